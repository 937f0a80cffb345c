"""Why answers are wrong, in words."""

import json

from tests.commands import agent_env

REPLIES = {"a": "MY ANSWER: 2001-01-01", "b": "I do not know.", "c": "MY ANSWER: spring"}


def test_answers_that_could_not_be_read_count_together_whatever_the_reader_says(tmp_path):
    rows = [{"id": f"q{k}", "question": f"Day {k}?", "answer": "2000-05-05"} for k in REPLIES]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "model.py").write_text(
        f"from agent_env.testing import answer as says\n\nREPLIES = {REPLIES}\n\n\n"
        "def answer(messages, tools):\n"
        "    text = messages[-1].content\n"
        "    return says(next(REPLIES[k] for k in REPLIES if f'Day {k}?' in text))\n"
    )
    words = ("--option", "scorer=date", "--model", "model.py:answer", "--condition", "base")
    done = agent_env("run", "q.jsonl", *words, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    why = agent_env("show", "run", "--why", cwd=tmp_path).stdout.splitlines()[1]
    because = "2 of them because no answer could be read in the reply."
    assert why == f"- 3 of 3 answers of base are wrong, {because}"
