"""A parser of server-sent events that takes bytes cut anywhere."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class SseMessage:
    event: str
    data: str
    #: The last id that the stream has sent, with this message or before it.
    id: str | None


class SseParser:
    """Feed it the bytes as they arrive."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._rest = ""
        self._saw_cr = False
        self._event = ""
        self._data: list[str] = []
        self._id: str | None = None

    def push(self, data: bytes) -> list[SseMessage]:
        """Takes the next bytes, and returns the messages that are complete with them."""
        text = self._decoder.decode(data)
        if not text:
            return []
        if self._saw_cr:
            # The line ended with the CR before; an LF belongs to the same end.
            text = text.removeprefix("\n")
        self._saw_cr = text.endswith("\r")
        *lines, self._rest = _LINE_END.split(self._rest + text)
        return [message for line in lines if (message := self._line(line))]

    def _line(self, line: str) -> SseMessage | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._event = value
        elif field == "id" and "\0" not in value:
            self._id = value
        return None

    def _dispatch(self) -> SseMessage | None:
        data, self._data = self._data, []
        event, self._event = self._event or "message", ""
        return SseMessage(event, "\n".join(data), self._id) if data else None
