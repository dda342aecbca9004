"""A stream of server-sent events that is opened again when it breaks."""

from __future__ import annotations

import asyncio  # for sleep
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import httpx

from .._retry import Delays, Retry
from .._shared import OnState
from .._sse import SseMessage, SseParser
from ..errors import ConnectionFailed, HeadwaterError, is_transient

T = TypeVar("T")


async def resume(
    open_stream: Callable[[], AbstractAsyncContextManager[httpx.Response]],
    read: Callable[[SseMessage], tuple[T | None, bool]],
    retry: Retry,
    on_state: OnState | None,
) -> AsyncGenerator[T, None]:
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
                async with open_stream() as response:
                    enter("connected")
                    if response.status_code == 204:
                        return
                    parser = SseParser()
                    async for data in response.aiter_bytes():
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
            await asyncio.sleep(delay)
    finally:
        enter("closed")
