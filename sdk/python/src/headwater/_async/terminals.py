"""Terminals: shells of sessions that keep running when their viewers leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack, cast

from .._shared import params, path
from ..types import Terminal, TerminalList, TerminalRequest, TerminalScreen
from .attach import AsyncAttachment
from .http import AsyncHttp


class AsyncTerminals:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def open(
        self,
        session: str,
        *,
        name: str | None = None,
        rows: int = 24,
        cols: int = 80,
        read_only: bool = False,
    ) -> AsyncAttachment:
        """Opens a terminal by WebSocket; it is created if it does not exist.

        Needs `pip install headwater[terminal]`.
        """
        query = {
            "frames": "binary",
            "name": name,
            "rows": rows,
            "cols": cols,
            "read_only": True if read_only else None,
        }
        return AsyncAttachment(self._http, path("/v1/sessions/{}/terminal", session), params(query))

    async def list(self, session: str) -> Sequence[Terminal]:
        route = path("/v1/sessions/{}/terminals", session)
        return cast(TerminalList, await self._http.request("GET", route))["terminals"]

    async def create(self, session: str, **request: Unpack[TerminalRequest]) -> Terminal:
        route = path("/v1/sessions/{}/terminals", session)
        return cast(Terminal, await self._http.request("POST", route, json=request))

    async def screen(self, session: str, name: str = "main") -> TerminalScreen:
        """The screen: bytes that draw it, including the scrollback."""
        route = path("/v1/sessions/{}/terminals/{}/snapshot", session, name)
        return cast(TerminalScreen, await self._http.request("GET", route))

    async def end(self, session: str, name: str = "main") -> None:
        await self._http.raw("DELETE", path("/v1/sessions/{}/terminals/{}", session, name))
