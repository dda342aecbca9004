"""What the synchronous and the asynchronous client share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from ._position import output_bytes
from .errors import ApiError, HeadwaterError
from .types import Event, ExitedEvent, ExitReason

ConnectionState: TypeAlias = Literal["connecting", "connected", "reconnecting", "closed"]
OnState: TypeAlias = Callable[[ConnectionState], None]
Query: TypeAlias = Mapping[str, str | int | float | bool | None]

DEFAULT_URL = "http://127.0.0.1:8080"
#: The server sends something every 15 seconds.
SILENCE_SECONDS = 45.0


@dataclass(frozen=True)
class Result:
    """How a program ended, and everything that it wrote."""

    id: str
    reason: ExitReason
    code: int | None
    message: str | None
    duration_ms: int
    stdout: str
    stderr: str
    #: The output of a terminal, or of both streams with `merge_output`.
    output: str

    @property
    def ok(self) -> bool:
        """Whether it exited by itself, with the code 0."""
        return self.reason == "exited" and self.code == 0


@dataclass
class Collector:
    """Collects the output of a program until it has exited."""

    id: str
    written: dict[str, bytearray] = field(
        default_factory=lambda: {name: bytearray() for name in ("stdout", "stderr", "output")}
    )
    exited: ExitedEvent | None = None

    def take(self, event: Event) -> None:
        if event["type"] == "stdout" or event["type"] == "stderr" or event["type"] == "output":
            self.written[event["type"]] += output_bytes(event)
        elif event["type"] == "exited":
            self.exited = event

    def result(self) -> Result:
        if self.exited is None:
            raise HeadwaterError(f"the log of {self.id} ended without the end of the program")
        text = {name: data.decode(errors="replace") for name, data in self.written.items()}
        return Result(
            id=self.id,
            reason=self.exited["reason"],
            code=self.exited.get("code"),
            message=self.exited.get("message"),
            duration_ms=self.exited["duration_ms"],
            **text,
        )


def path(template: str, *values: str) -> str:
    """A path with its values percent-encoded: `path("/v1/sessions/{}", id)`."""
    return template.format(*(quote(value, safe="") for value in values))


def address(url: str | None) -> str:
    return (url or os.environ.get("HEADWATER_URL") or DEFAULT_URL).rstrip("/")


def credential(token: str | None) -> dict[str, str]:
    token = token or os.environ.get("HEADWATER_TOKEN")
    return {"authorization": f"Bearer {token}"} if token else {}


def params(query: Query) -> dict[str, str]:
    """Query parameters, without those that are None."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in query.items()
        if value is not None
    }


def stream_error(data: str) -> ApiError:
    """The error that a server sends in a stream. It has no status."""
    body: dict[str, Any] = json.loads(data)
    message = body.get("message") or "The stream cannot continue."
    return ApiError(0, body.get("code") or "unknown", message, body.get("hint"))
