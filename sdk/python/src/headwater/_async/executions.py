"""Executions: start, follow, control."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Unpack, cast

from .._position import Position
from .._retry import Retry
from .._shared import OnState, params, path, stream_error
from .._sse import SseMessage
from ..types import (
    Event,
    Execution,
    ExecutionPage,
    OutputStream,
    Process,
    ProcessList,
    SignalName,
    StartRequest,
    Until,
)
from .attach import AsyncAttachment
from .http import AsyncHttp
from .stream import resume


class AsyncExecutions:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def start(
        self,
        *,
        session: str | None = None,
        idempotency_key: str | None = None,
        lossless: bool = False,
        **request: Unpack[StartRequest],
    ) -> Execution:
        """Starts a program; does not wait for its end.

        Without `session` it gets a session of its own, which ends with it. Requests with the same
        `idempotency_key` start one execution.
        """
        route = "/v1/executions" if session is None else path("/v1/sessions/{}/executions", session)
        query = {"lossless": True if lossless else None}
        execution = await self._http.once(route, idempotency_key, json=request, query=query)
        return cast(Execution, execution)

    async def rerun(self, execution: str, *, idempotency_key: str | None = None) -> Execution:
        """Runs an execution again, with the same command, variables and limits.

        Its input is not kept.
        """
        route = path("/v1/executions/{}/rerun", execution)
        return cast(Execution, await self._http.once(route, idempotency_key))

    def follow(
        self,
        execution: str,
        *,
        after: int = 0,
        until: Until = "closed",
        tail: int | None = None,
        streams: Sequence[OutputStream] | None = None,
        lossless: bool = False,
        batch_ms: int | None = None,
        retry: Retry | None = None,
        on_state: OnState | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Yields the events of an execution, each exactly once and in order.

        If the connection breaks or the server is restarted, it connects again and continues after
        the last event.
        """
        position = Position(after)
        left: int | None = tail

        def read(message: SseMessage) -> tuple[Event | None, bool]:
            nonlocal left
            if message.event == "reconnect":
                return None, False
            if message.event == "error":
                raise stream_error(message.data)
            event: Event = json.loads(message.data)
            if event["type"] in ("stdout", "stderr", "output"):
                left = None
            return position.advance(event), event["type"] in ("closed", until)

        def headers() -> dict[str, str]:
            # With the header, the server answers 204 if nothing follows. It would ignore `tail`.
            known = left is None and position.seq > 0
            return {"last-event-id": str(position.seq)} if known else {}

        return resume(
            lambda: self._http.stream(
                path("/v1/executions/{}/events", execution),
                {
                    "after": position.seq,
                    "until": until,
                    "tail": left,
                    "streams": ",".join(streams) if streams else None,
                    "lossless": True if lossless else None,
                    "batch_ms": batch_ms,
                },
                headers(),
            ),
            read,
            retry or Retry(),
            on_state,
        )

    def attach(self, execution: str, *, after: int = 0, read_only: bool = False) -> AsyncAttachment:
        """Attaches by WebSocket, to send input. Needs `pip install headwater[terminal]`."""
        query = {"after": after, "read_only": True if read_only else None}
        return AsyncAttachment(
            self._http, path("/v1/executions/{}/attach", execution), params(query)
        )

    async def get(
        self, execution: str, *, wait: str | None = None, until: Until | None = None
    ) -> Execution:
        """Returns an execution: at once, or with `wait` (`10s`) when it has ended."""
        query = {"wait": wait, "until": until}
        route = path("/v1/executions/{}", execution)
        return cast(Execution, await self._http.request("GET", route, query=query))

    async def list(self, **query: str | int | None) -> ExecutionPage:
        """Lists executions, newest first: `session_id`, `state`, `language`, `limit`, `cursor`."""
        return cast(ExecutionPage, await self._http.request("GET", "/v1/executions", query=query))

    async def output(self, execution: str, stream: str = "merged") -> bytes:
        """The raw output: exactly the bytes that are kept."""
        route = path("/v1/executions/{}/output", execution)
        return (await self._http.raw("GET", route, query={"stream": stream})).content

    async def write(
        self, execution: str, data: str | bytes, *, eof: bool = False, offset: int | None = None
    ) -> None:
        """Writes to standard input. With `offset`, bytes that already arrived are skipped."""
        query = {"eof": True if eof else None, "offset": offset}
        route = path("/v1/executions/{}/stdin", execution)
        await self._http.raw("POST", route, content=data, query=query)

    async def signal(self, execution: str, signal: SignalName) -> None:
        """Sends a signal to the foreground process group."""
        route = path("/v1/executions/{}/signal", execution)
        await self._http.raw("POST", route, json={"signal": signal})

    async def cancel(self, execution: str) -> None:
        """Sends SIGTERM to all processes, and SIGKILL after a grace period."""
        await self._http.raw("POST", path("/v1/executions/{}/cancel", execution))

    async def processes(self, execution: str) -> Sequence[Process]:
        route = path("/v1/executions/{}/processes", execution)
        return cast(ProcessList, await self._http.request("GET", route))["processes"]

    async def remove(self, execution: str) -> None:
        """Removes a closed execution and its log."""
        await self._http.raw("DELETE", path("/v1/executions/{}", execution))
