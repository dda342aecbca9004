"""Following a server that breaks connections in every place: nothing is lost or repeated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import httpx
import pytest

from headwater import ApiError, ConnectionState, Headwater, Retry
from headwater.types import Event

LOG: list[Event] = [
    {"type": "started", "seq": 1, "at_ms": 0, "execution_id": "exe_1", "pid": 7},
    {"type": "stdout", "seq": 2, "at_ms": 0, "offset": 0, "text": "grüße\n"},
    {"type": "stderr", "seq": 4, "at_ms": 0, "offset": 0, "base64": "/w=="},
    {"type": "gap", "seq": 4, "at_ms": 0, "stream": "stdout", "from_byte": 8, "to_byte": 20},
    {"type": "gap", "seq": 6, "at_ms": 0, "stream": "stderr", "from_byte": 1, "to_byte": 9},
    {"type": "stdout", "seq": 9, "at_ms": 0, "offset": 20, "text": "end\n"},
    {"type": "closed", "seq": 11, "at_ms": 0},
]
FAST = Retry(first_delay=0.0)
Script = Callable[[int], httpx.Response]


def frames(after: int) -> bytes:
    """The events after a seq. The gap that repeats the seq before it comes again."""
    events = [e for e in LOG if e["seq"] > after or (e["type"] == "gap" and e["seq"] == after)]
    return b"".join(
        f"id: {e['seq']}\nevent: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events
    )


class Broken(httpx.SyncByteStream):
    """A body whose connection breaks after some bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __iter__(self) -> Iterator[bytes]:
        yield self.data
        raise httpx.ReadError("the connection broke")


def scripted(*scripts: Script) -> tuple[Headwater, list[str]]:
    """A client whose n-th request gets the n-th response (the last one from then on)."""
    requests: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        after = request.url.params["after"]
        requests.append(after)
        return scripts[min(len(requests), len(scripts)) - 1](int(after))

    return Headwater("http://server", "t", transport=httpx.MockTransport(answer)), requests


def whole(after: int) -> httpx.Response:
    return httpx.Response(200, content=frames(after))


def refuse(status: int, code: str) -> Script:
    detail = {"error": {"code": code, "message": "No.", "hint": "Do."}}
    return lambda _: httpx.Response(status, json=detail)


def test_a_connection_that_breaks_at_every_byte_loses_and_repeats_nothing() -> None:
    for cut in range(len(frames(0))):
        client, _ = scripted(
            lambda after, cut=cut: httpx.Response(200, stream=Broken(frames(after)[:cut])),  # type: ignore[misc]
            whole,
        )
        assert list(client.executions.follow("exe_1", retry=FAST)) == LOG, cut


def test_a_connection_that_breaks_after_each_event_loses_and_repeats_nothing() -> None:
    def one(after: int) -> httpx.Response:
        events = frames(after).split(b"\n\n")
        # A gap that comes again is not new: one event more.
        count = 2 if after in (4, 6) else 1
        return httpx.Response(200, stream=Broken(b"\n\n".join(events[:count]) + b"\n\n"))

    client, requests = scripted(one)
    events = list(client.executions.follow("exe_1", retry=FAST))
    assert [e["seq"] for e in events] == [e["seq"] for e in LOG]
    assert requests == ["0", "1", "2", "4", "6", "9"]


def test_refusals_that_pass_are_retried() -> None:
    states: list[ConnectionState] = []
    client, requests = scripted(
        refuse(503, "unavailable"),
        refuse(429, "rate_limited"),
        lambda _: httpx.Response(200, content=b'event: reconnect\ndata: {"after":0}\n\n'),
        whole,
    )
    assert list(client.executions.follow("exe_1", retry=FAST, on_state=states.append)) == LOG
    assert len(requests) == 4
    assert states[0] == "connecting" and states[-2:] == ["connected", "closed"]


def test_other_refusals_are_final() -> None:
    client, requests = scripted(refuse(404, "not_found"))
    with pytest.raises(ApiError) as caught:
        list(client.executions.follow("exe_1", retry=FAST))
    error = caught.value
    assert (error.status, error.code, error.message, error.hint) == (404, "not_found", "No.", "Do.")
    assert len(requests) == 1


def test_204_and_error_events_end_a_stream() -> None:
    client, _ = scripted(lambda _: httpx.Response(204))
    assert list(client.executions.follow("exe_1", after=11)) == []
    body = b'event: error\ndata: {"code":"reader_too_slow","message":"Too slow."}\n\n'
    client, _ = scripted(lambda _: httpx.Response(200, content=body))
    with pytest.raises(ApiError, match="Too slow"):
        list(client.executions.follow("exe_1"))
