"""What it costs a model to make a question: input tokens from SQL, and from whole rows.

The paper's Table 26 compares turning a statement into words, which needs only the columns of a
dependency, with giving a model whole rows to ask about. Tokens are estimated from the bytes (4 a
token), as no model's tokenizer is at hand.
"""

from __future__ import annotations

import csv
import io

from agent_env.families.tdbench.sample import TdbenchSample
from agent_env.records.schema import MaterialTable

FROM_SQL = """\
Put a query into words. It reads the table {table}({columns}), whose rows each held from a start \
up to an end. Write {number} questions that ask for exactly its result, a line each, and nothing \
else.

{sql}"""
FROM_ROWS = """\
Make questions about time from a table. Its rows each held from a start up to an end, and stand \
below as CSV. Write {number} questions that one of them answers, with the answer, a line each, and \
nothing else.

{rows}"""
QUESTIONS = 3
"""For each query, as in the paper."""


def sql_tokens(sample: TdbenchSample, table: MaterialTable | None) -> int | None:
    """To word the sample's query; None where it has no statement."""
    sql = sample.sql.get("sqlite")
    if table is None or sql is None:
        return None
    columns = ", ".join((*sample.asked, *sample.answers, "start", "end"))
    return _tokens(FROM_SQL.format(table=table.name, columns=columns, number=QUESTIONS, sql=sql))


def llm_only_tokens(sample: TdbenchSample, table: MaterialTable | None) -> int | None:
    """To make a question of the rows of the sample's group, with all their columns."""
    if table is None or not sample.relevant:
        return None
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([table.columns, *(table.rows[index] for index in sample.relevant[0])])
    return _tokens(FROM_ROWS.format(number=QUESTIONS, rows=out.getvalue()))


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // 4)
