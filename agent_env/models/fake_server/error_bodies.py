"""The body of an error, as each provider writes it."""

from __future__ import annotations

from typing import Any

from agent_env.models.fake_server.modes import ErrorStyle
from agent_env.models.fake_server.talk import Refusal

GOOGLE = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 503: "UNAVAILABLE"}
VLLM = {400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError"}


def error_body(style: ErrorStyle, refusal: Refusal) -> Any:
    """What stands in the body of the refusal's response."""
    text, status = str(refusal), refusal.status
    if "detail" in refusal.extra:
        return {"detail": refusal.extra["detail"]}
    if style == "gemini":
        word = GOOGLE.get(status, "INTERNAL")
        return [{"error": {"code": status, "message": text, "status": word}}]
    kind = "server_error" if status >= 500 else "invalid_request_error"
    if style == "llama.cpp":
        return {"error": {"code": status, "message": text, "type": kind} | refusal.extra}
    if style == "vllm":
        kind = VLLM.get(status, "InternalServerError")
        return {"error": {"message": text, "type": kind, "param": refusal.field, "code": status}}
    code = refusal.code or status
    error = {"message": text, "type": kind, "param": refusal.field, "code": code}
    return {"error": error | refusal.extra}
