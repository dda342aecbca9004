# Generated from _async/client.py by scripts/generate.py. Do not edit.
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
from .builds import Builds
from .editor import Editor
from .executions import Executions
from .files import Files
from .http import Http
from .sessions import Sessions
from .terminals import Terminals


class Headwater:
    """A client of a server.

    `url` and `token` default to the variables `HEADWATER_URL` and `HEADWATER_TOKEN`.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = Http(url, token, transport)
        self.sessions = Sessions(self._http)
        self.executions = Executions(self._http)
        self.files = Files(self._http)
        self.builds = Builds(self._http)
        self.terminals = Terminals(self._http)
        self.editor = Editor(self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections. Programs keep running."""
        self._http.close()

    def run(
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
        execution = self.executions.start(
            session=session, idempotency_key=idempotency_key, lossless=True, **request
        )
        collector = Collector(execution["id"])
        for event in self.executions.follow(
            execution["id"], until="exited", lossless=True, batch_ms=0
        ):
            collector.take(event)
            if on_event is not None:
                on_event(event)
        return collector.result()

    def languages(self) -> Sequence[Language]:
        return cast(LanguageList, self.request("GET", "/v1/languages"))["languages"]

    def templates(self) -> Sequence[Template]:
        """What a session can start from: the `template` of `sessions.create`."""
        return cast(TemplateList, self.request("GET", "/v1/templates"))["items"]

    def me(self) -> Caller:
        """The caller and its rights."""
        return cast(Caller, self.request("GET", "/v1/me"))

    def info(self) -> ServerInfo:
        return cast(ServerInfo, self.request("GET", "/v1/info"))

    def request(
        self, method: str, path: str, *, query: Query | None = None, json: Any = None
    ) -> Any:
        """Sends any request of the API; returns the JSON of the response."""
        return self._http.request(method, path, query=query, json=json)
