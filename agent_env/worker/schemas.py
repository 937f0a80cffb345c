"""JSON schemas of strangers: whether one is a schema, and whether a value keeps to it.

No `$ref` leads out of a schema. A pattern or references without end end with the process's time.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable


def problem(schema: dict[str, Any], value: Any = None, *, has_value: bool = False) -> str | None:
    """Why it is not a JSON schema, or why the value does not match it, in a line; else None."""
    try:
        validator = _validator(json.dumps(schema))
        error = best_match(validator.iter_errors(value)) if has_value else None
    except SchemaError as exc:
        return f"is not a JSON schema: {exc.message[:200]}"
    except (Unresolvable, RecursionError, ValueError, TypeError, ArithmeticError) as exc:
        return f"is not a JSON schema: {type(exc).__name__}"
    return None if error is None else f"does not allow the result: {error.message[:200]}"


@lru_cache(maxsize=64)
def _validator(text: str) -> Any:
    schema = json.loads(text)
    kind = validator_for(schema)
    kind.check_schema(schema)
    return kind(schema, registry=Registry())


for _draft in ("2020-12/schema", "2019-09/schema"):  # what is read when first needed: read it now
    problem({"$schema": f"https://json-schema.org/draft/{_draft}", "type": "string"}, 1)
