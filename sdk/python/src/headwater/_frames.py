"""The binary frames of WebSockets: `attach` and terminals. Numbers are little-endian."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

_STREAMS: dict[int, Literal["stdout", "stderr", "output"]] = {1: "stdout", 2: "stderr", 3: "output"}


@dataclass(frozen=True)
class Output:
    """Bytes that a program wrote."""

    stream: Literal["stdout", "stderr", "output"]
    seq: int
    data: bytes


#: What a socket yields: output, or any other event as the JSON object that docs/api.md describes.
Frame: TypeAlias = Output | dict[str, Any]


def decode_frame(frame: bytes) -> Frame | None:
    """Decodes a frame of the server; None for one that this version does not know."""
    if frame[:1] == b"\x02":
        event: dict[str, Any] = json.loads(frame[1:])
        return event
    if frame[:1] == b"\x01" and len(frame) >= 10 and frame[1] in _STREAMS:
        return Output(_STREAMS[frame[1]], struct.unpack_from("<Q", frame, 2)[0], frame[10:])
    return None


def input_frame(data: str | bytes) -> bytes:
    return b"\x10" + (data.encode() if isinstance(data, str) else data)


def eof_frame() -> bytes:
    return b"\x11"


def resize_frame(rows: int, cols: int) -> bytes:
    return struct.pack("<BHH", 0x12, rows, cols)


def signal_frame(signal: int) -> bytes:
    return struct.pack("<BB", 0x13, signal)
