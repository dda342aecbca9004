"""Sessions: isolated environments with their own workspaces."""

from __future__ import annotations

from typing import Unpack, cast

from .._shared import path
from ..types import (
    PortList,
    Preview,
    Session,
    SessionPage,
    SessionPatch,
    SessionRequest,
    SessionUsage,
    Snapshot,
)
from .http import AsyncHttp


class AsyncSessions:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def create(
        self, *, idempotency_key: str | None = None, **request: Unpack[SessionRequest]
    ) -> Session:
        return cast(Session, await self._http.once("/v1/sessions", idempotency_key, json=request))

    async def get(self, session: str) -> Session:
        route = path("/v1/sessions/{}", session)
        return cast(Session, await self._http.request("GET", route))

    async def list(self, **query: str | int | bool | None) -> SessionPage:
        """Lists sessions, newest first: `state`, `name`, `shared`, `owner`, `limit`, `cursor`."""
        return cast(SessionPage, await self._http.request("GET", "/v1/sessions", query=query))

    async def update(self, session: str, **patch: Unpack[SessionPatch]) -> Session:
        """Changes the fields that are given."""
        route = path("/v1/sessions/{}", session)
        return cast(Session, await self._http.request("PATCH", route, json=patch))

    async def end(self, session: str, *, keep_logs: bool = False) -> None:
        """Ends a session with its programs, and deletes its workspace."""
        query = {"keep_logs": True if keep_logs else None}
        await self._http.raw("DELETE", path("/v1/sessions/{}", session), query=query)

    async def fork(
        self, session: str, *, name: str | None = None, snapshot: str | None = None
    ) -> Session:
        """Creates a session with a copy of the workspace, or of a snapshot."""
        route = path("/v1/sessions/{}/fork", session)
        body = {"name": name, "snapshot": snapshot}
        return cast(Session, await self._http.request("POST", route, json=body))

    async def hibernate(self, session: str) -> Session:
        """Ends the programs and keeps the workspace. The next use resumes the session."""
        route = path("/v1/sessions/{}/hibernate", session)
        return cast(Session, await self._http.request("POST", route))

    async def usage(self, session: str) -> SessionUsage:
        route = path("/v1/sessions/{}/usage", session)
        return cast(SessionUsage, await self._http.request("GET", route))

    async def ports(self, session: str) -> PortList:
        """The TCP ports that programs of the session listen on now."""
        route = path("/v1/sessions/{}/ports", session)
        return cast(PortList, await self._http.request("GET", route))

    async def preview(self, session: str, port: int) -> Preview:
        """Opens a port as a web site. Whoever has its address can use it until it expires."""
        route = path("/v1/sessions/{}/previews", session)
        return cast(Preview, await self._http.request("POST", route, json={"port": port}))

    async def snapshot(self, session: str, name: str | None = None) -> Snapshot:
        """Creates a snapshot of the workspace."""
        route = path("/v1/sessions/{}/snapshots", session)
        return cast(Snapshot, await self._http.request("POST", route, json={"name": name}))

    async def restore(self, session: str, snapshot: str) -> Snapshot:
        """Replaces the whole content of the workspace with a snapshot."""
        route = path("/v1/sessions/{}/snapshots/{}/restore", session, snapshot)
        return cast(Snapshot, await self._http.request("POST", route))
