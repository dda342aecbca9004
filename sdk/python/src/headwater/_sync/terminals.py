# Generated from _async/terminals.py by scripts/generate.py. Do not edit.
"""Terminals: shells of sessions that keep running when their viewers leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack, cast

from .._shared import params, path
from ..types import Terminal, TerminalList, TerminalRequest, TerminalScreen
from .attach import Attachment
from .http import Http


class Terminals:
    def __init__(self, http: Http) -> None:
        self._http = http

    def open(
        self,
        session: str,
        *,
        name: str | None = None,
        rows: int = 24,
        cols: int = 80,
        read_only: bool = False,
    ) -> Attachment:
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
        return Attachment(self._http, path("/v1/sessions/{}/terminal", session), params(query))

    def list(self, session: str) -> Sequence[Terminal]:
        route = path("/v1/sessions/{}/terminals", session)
        return cast(TerminalList, self._http.request("GET", route))["terminals"]

    def create(self, session: str, **request: Unpack[TerminalRequest]) -> Terminal:
        route = path("/v1/sessions/{}/terminals", session)
        return cast(Terminal, self._http.request("POST", route, json=request))

    def screen(self, session: str, name: str = "main") -> TerminalScreen:
        """The screen: bytes that draw it, including the scrollback."""
        route = path("/v1/sessions/{}/terminals/{}/snapshot", session, name)
        return cast(TerminalScreen, self._http.request("GET", route))

    def end(self, session: str, name: str = "main") -> None:
        self._http.raw("DELETE", path("/v1/sessions/{}/terminals/{}", session, name))
