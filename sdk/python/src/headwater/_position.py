"""The position of a reader in a log. It decides which events are new."""

from __future__ import annotations

import base64

from .types import Event, OutputEvent, StderrEvent, StdoutEvent


def output_bytes(event: StdoutEvent | StderrEvent | OutputEvent) -> bytes:
    """The bytes of an output event, exactly as the program wrote them."""
    encoded = event.get("base64")
    return base64.b64decode(encoded) if encoded else (event.get("text") or "").encode()


class Position:
    """The seq to resume after, and the end of each stream as far as it is known."""

    def __init__(self, seq: int = 0) -> None:
        self.seq = seq
        self._ends: dict[str, int] = {}

    def advance(self, event: Event) -> Event | None:
        """Advances to an event; returns it if it is new.

        A gap may repeat the seq of the event before it: it is new if it covers bytes after the
        known end of its stream.
        """
        known, self.seq = self.seq, max(self.seq, event["seq"])
        if event["type"] == "gap":
            end = self._ends.get(event["stream"], 0)
            self._ends[event["stream"]] = max(end, event["to_byte"])
            first = max(event["from_byte"], end)
            if event["seq"] < known or event["to_byte"] <= first:
                return None
            return {**event, "from_byte": first}
        if event["seq"] <= known:
            return None
        if event["type"] == "stdout" or event["type"] == "stderr" or event["type"] == "output":
            self._ends[event["type"]] = event["offset"] + len(output_bytes(event))
        return event
