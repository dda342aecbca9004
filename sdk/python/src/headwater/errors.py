"""The errors of this library: what the server refused, and what never reached it."""

from __future__ import annotations

import json
from collections.abc import Mapping


class HeadwaterError(Exception):
    """Every error of this library."""


class ApiError(HeadwaterError):
    """The server refused a request. Decide by `code`; `message` and `hint` are for people."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        hint: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message if hint is None else f"{message} ({hint})")
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
        self.request_id = request_id
        #: How many seconds the server asks to wait before the next attempt.
        self.retry_after = retry_after

    @classmethod
    def read(cls, status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
        """The error of a response that is not a success."""
        try:
            detail = json.loads(body)["error"]
            code, message = str(detail["code"]), str(detail["message"])
        except (ValueError, KeyError, TypeError):
            detail, code, message = {}, "unknown", f"The server returned status {status}."
        asked = headers.get("retry-after", "")
        return cls(
            status,
            code,
            message,
            detail.get("hint"),
            detail.get("request_id") or headers.get("x-request-id"),
            float(asked) if asked.isdigit() else None,
        )


class ConnectionFailed(HeadwaterError):
    """No response: the server could not be reached, or the connection broke."""


def is_transient(error: HeadwaterError) -> bool:
    """Whether a request that failed with this error may be sent again."""
    if isinstance(error, ApiError):
        return error.status == 429 or (error.status >= 500 and error.status != 507)
    return isinstance(error, ConnectionFailed)
