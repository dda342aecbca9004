# Generated from _async/stream.py by scripts/generate.py. Do not edit.
"""A stream of server-sent events that is opened again when it breaks."""

from __future__ import annotations

import time
from collections.abc import Generator, Callable
from contextlib import AbstractContextManager
from typing import TypeVar

import httpx

from .._retry import Delays, Retry
from .._shared import OnState
from .._sse import SseMessage, SseParser
from ..errors import ConnectionFailed, HeadwaterError, is_transient

T = TypeVar("T")


def resume(
    open_stream: Callable[[], AbstractContextManager[httpx.Response]],
    read: Callable[[SseMessage], tuple[T | None, bool]],
    retry: Retry,
    on_state: OnState | None,
) -> Generator[T, None]:
    """Yields the items of a stream over any number of connections.

    `open_stream` requests what comes after the last message that `read` saw. `read` returns the new
    item of a message, if it has one, and whether the stream ends with it. Network errors, 5xx and
    429 are retried; every other refusal is raised.
    """
    delays = Delays(retry)
    enter = on_state or (lambda _: None)
    enter("connecting")
    try:
        while True:
            failure: HeadwaterError = ConnectionFailed("the stream ended before its last event")
            try:
                with open_stream() as response:
                    enter("connected")
                    if response.status_code == 204:
                        return
                    parser = SseParser()
                    for data in response.iter_bytes():
                        for message in parser.push(data):
                            item, is_last = read(message)
                            if item is not None:
                                delays.reset()
                                yield item
                            if is_last:
                                return
            except HeadwaterError as error:
                if not is_transient(error):
                    raise
                failure = error
            delay = delays.next(failure)
            enter("reconnecting")
            time.sleep(delay)
    finally:
        enter("closed")
