"""The pure parts: the parser, the position, the delays, the frames, and what is generated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headwater import ApiError, ConnectionFailed, Output, Retry
from headwater._frames import decode_frame, eof_frame, input_frame, resize_frame, signal_frame
from headwater._position import Position
from headwater._retry import Delays
from headwater._sse import SseMessage, SseParser
from headwater.errors import HeadwaterError, is_transient
from headwater.types import Event

STREAM = (
    ": a comment\n\nretry: 100\n\n"
    'id: 1\nevent: stdout\ndata: {"text":"grüße 👋"}\n\n'
    'event: reconnect\ndata: {"after":1}\n\n'
    "id: 2\r\nevent: stderr\r\ndata: a\r\ndata: b\r\n\r\n"
    "id: 3\rdata:no space\r\r"
    "data\n\nevent: nothing\n\n"
    "id: bad\0id\ndata: :colon: x\nunknown: y\n\n"
).encode()

EXPECTED = [
    SseMessage("stdout", '{"text":"grüße 👋"}', "1"),
    SseMessage("reconnect", '{"after":1}', "1"),
    SseMessage("stderr", "a\nb", "2"),
    SseMessage("message", "no space", "3"),
    SseMessage("message", "", "3"),
    SseMessage("message", ":colon: x", "3"),
]


def parse(*chunks: bytes) -> list[SseMessage]:
    parser = SseParser()
    return [message for chunk in chunks for message in parser.push(chunk)]


def test_a_stream_is_parsed_however_it_is_cut() -> None:
    assert parse(STREAM) == EXPECTED
    assert parse(*(bytes([byte]) for byte in STREAM)) == EXPECTED
    for cut in range(len(STREAM)):
        assert parse(STREAM[:cut], STREAM[cut:]) == EXPECTED, cut


def output(seq: int, offset: int, text: str) -> Event:
    return {"type": "stdout", "seq": seq, "at_ms": 0, "offset": offset, "text": text}


def gap(seq: int, first: int, end: int) -> Event:
    return {
        "type": "gap",
        "seq": seq,
        "at_ms": 0,
        "stream": "stdout",
        "from_byte": first,
        "to_byte": end,
    }


def test_earlier_events_are_not_new() -> None:
    position = Position(3)
    assert position.advance(output(3, 0, "a")) is None
    assert position.advance(output(5, 0, "abc"))
    assert position.advance(output(5, 0, "abc")) is None
    assert position.advance(output(4, 0, "abc")) is None
    assert position.seq == 5


def test_a_gap_with_the_seq_before_it_is_returned_once() -> None:
    position = Position()
    assert position.advance(output(2, 0, "abü"))
    assert position.advance(gap(2, 4, 10)) == gap(2, 4, 10)
    assert position.advance(gap(2, 4, 10)) is None
    assert position.advance(gap(7, 4, 12)) == gap(7, 10, 12)
    assert position.advance(gap(6, 4, 20)) is None


def test_delays_grow_to_a_bound_and_respect_the_server() -> None:
    delays = Delays(Retry(first_delay=0.1, max_delay=1.0))
    gone = ConnectionFailed("gone")
    for bound in (0.1, 0.2, 0.4, 0.8, 1.0, 1.0):
        assert bound / 2 <= delays.next(gone) <= bound
    delays.reset()
    assert delays.next(gone) <= 0.1
    assert delays.next(ApiError(429, "rate_limited", "Wait.", retry_after=7.0)) == 7.0
    with pytest.raises(ConnectionFailed):
        Delays(Retry(max_retries=0)).next(gone)


def test_which_errors_are_transient() -> None:
    assert all(is_transient(ApiError(status, "x", "x")) for status in (429, 500, 502, 503))
    assert not any(is_transient(ApiError(status, "x", "x")) for status in (0, 400, 401, 404, 507))
    assert is_transient(ConnectionFailed("gone"))
    assert not is_transient(HeadwaterError("a bug"))


def test_frames_are_as_documented() -> None:
    frame = b"\x01\x02\x05\x01\x00\x00\x00\x00\x00\x00a\xff"
    assert decode_frame(frame) == Output("stderr", 261, b"a\xff")
    assert decode_frame(b'\x02{"type":"closed","seq":9}') == {"type": "closed", "seq": 9}
    for unknown in (b"", b"\x01\x01", b"\x01\x09" + bytes(8), b"\x7f"):
        assert decode_frame(unknown) is None
    assert input_frame("ü") == b"\x10\xc3\xbc"
    assert eof_frame() == b"\x11"
    assert resize_frame(24, 300) == b"\x12\x18\x00\x2c\x01"
    assert signal_frame(15) == b"\x13\x0f"


def test_generated_files_are_current() -> None:
    script = Path(__file__).parent.parent / "scripts" / "generate.py"
    subprocess.run([sys.executable, script, "--check"], check=True)
