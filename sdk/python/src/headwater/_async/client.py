"""The client: one object for one server and one credential."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, Unpack, cast

import httpx

from .._shared import Collector, Query, Result
from ..types import (
    Caller,
    Event,
    Language,
    LanguageList,
    ServerInfo,
    StartRequest,
    Template,
    TemplateList,
)
from .builds import AsyncBuilds
from .editor import AsyncEditor
from .executions import AsyncExecutions
from .files import AsyncFiles
from .http import AsyncHttp
from .sessions import AsyncSessions
from .terminals import AsyncTerminals


class AsyncHeadwater:
    """A client of a server.

    `url` and `token` default to the variables `HEADWATER_URL` and `HEADWATER_TOKEN`.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = AsyncHttp(url, token, transport)
        self.sessions = AsyncSessions(self._http)
        self.executions = AsyncExecutions(self._http)
        self.files = AsyncFiles(self._http)
        self.builds = AsyncBuilds(self._http)
        self.terminals = AsyncTerminals(self._http)
        self.editor = AsyncEditor(self._http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes all connections. Programs keep running."""
        await self._http.aclose()

    async def run(
        self,
        *,
        session: str | None = None,
        on_event: Callable[[Event], None] | None = None,
        idempotency_key: str | None = None,
        **request: Unpack[StartRequest],
    ) -> Result:
        """Runs a program and returns its output when it has exited.

        Give it `argv`, `shell`, or `language` with `code`. Nothing is lost, however much the
        program writes: it is kept in memory.
        """
        execution = await self.executions.start(
            session=session, idempotency_key=idempotency_key, lossless=True, **request
        )
        collector = Collector(execution["id"])
        async for event in self.executions.follow(
            execution["id"], until="exited", lossless=True, batch_ms=0
        ):
            collector.take(event)
            if on_event is not None:
                on_event(event)
        return collector.result()

    async def languages(self) -> Sequence[Language]:
        return cast(LanguageList, await self.request("GET", "/v1/languages"))["languages"]

    async def templates(self) -> Sequence[Template]:
        """What a session can start from: the `template` of `sessions.create`."""
        return cast(TemplateList, await self.request("GET", "/v1/templates"))["items"]

    async def me(self) -> Caller:
        """The caller and its rights."""
        return cast(Caller, await self.request("GET", "/v1/me"))

    async def info(self) -> ServerInfo:
        return cast(ServerInfo, await self.request("GET", "/v1/info"))

    async def request(
        self, method: str, path: str, *, query: Query | None = None, json: Any = None
    ) -> Any:
        """Sends any request of the API; returns the JSON of the response."""
        return await self._http.request(method, path, query=query, json=json)
