# Generated from _async/sessions.py by scripts/generate.py. Do not edit.
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
from .http import Http


class Sessions:
    def __init__(self, http: Http) -> None:
        self._http = http

    def create(
        self, *, idempotency_key: str | None = None, **request: Unpack[SessionRequest]
    ) -> Session:
        return cast(Session, self._http.once("/v1/sessions", idempotency_key, json=request))

    def get(self, session: str) -> Session:
        route = path("/v1/sessions/{}", session)
        return cast(Session, self._http.request("GET", route))

    def list(self, **query: str | int | bool | None) -> SessionPage:
        """Lists sessions, newest first: `state`, `name`, `shared`, `owner`, `limit`, `cursor`."""
        return cast(SessionPage, self._http.request("GET", "/v1/sessions", query=query))

    def update(self, session: str, **patch: Unpack[SessionPatch]) -> Session:
        """Changes the fields that are given."""
        route = path("/v1/sessions/{}", session)
        return cast(Session, self._http.request("PATCH", route, json=patch))

    def end(self, session: str, *, keep_logs: bool = False) -> None:
        """Ends a session with its programs, and deletes its workspace."""
        query = {"keep_logs": True if keep_logs else None}
        self._http.raw("DELETE", path("/v1/sessions/{}", session), query=query)

    def fork(
        self, session: str, *, name: str | None = None, snapshot: str | None = None
    ) -> Session:
        """Creates a session with a copy of the workspace, or of a snapshot."""
        route = path("/v1/sessions/{}/fork", session)
        body = {"name": name, "snapshot": snapshot}
        return cast(Session, self._http.request("POST", route, json=body))

    def hibernate(self, session: str) -> Session:
        """Ends the programs and keeps the workspace. The next use resumes the session."""
        route = path("/v1/sessions/{}/hibernate", session)
        return cast(Session, self._http.request("POST", route))

    def usage(self, session: str) -> SessionUsage:
        route = path("/v1/sessions/{}/usage", session)
        return cast(SessionUsage, self._http.request("GET", route))

    def ports(self, session: str) -> PortList:
        """The TCP ports that programs of the session listen on now."""
        route = path("/v1/sessions/{}/ports", session)
        return cast(PortList, self._http.request("GET", route))

    def preview(self, session: str, port: int) -> Preview:
        """Opens a port as a web site. Whoever has its address can use it until it expires."""
        route = path("/v1/sessions/{}/previews", session)
        return cast(Preview, self._http.request("POST", route, json={"port": port}))

    def snapshot(self, session: str, name: str | None = None) -> Snapshot:
        """Creates a snapshot of the workspace."""
        route = path("/v1/sessions/{}/snapshots", session)
        return cast(Snapshot, self._http.request("POST", route, json={"name": name}))

    def restore(self, session: str, snapshot: str) -> Snapshot:
        """Replaces the whole content of the workspace with a snapshot."""
        route = path("/v1/sessions/{}/snapshots/{}/restore", session, snapshot)
        return cast(Snapshot, self._http.request("POST", route))
