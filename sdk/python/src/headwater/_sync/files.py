# Generated from _async/files.py by scripts/generate.py. Do not edit.
"""Files of a workspace. `src/a`, `/src/a` and `/workspace/src/a` are the same file."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import cast

from .._retry import Retry
from .._shared import OnState, Query, path, stream_error
from .._sse import SseMessage
from ..types import CopiedFile, File, FileChange, FilePage, SearchResult
from .http import Http
from .stream import resume


class Files:
    def __init__(self, http: Http) -> None:
        self._http = http

    def read(self, session: str, file: str) -> bytes:
        route = path("/v1/sessions/{}/files/content", session)
        return (self._http.raw("GET", route, query={"path": file})).content

    def read_text(self, session: str, file: str) -> str:
        return (self.read(session, file)).decode()

    def write(
        self,
        session: str,
        file: str,
        content: str | bytes,
        *,
        if_match: str | None = None,
        create: bool = False,
        append: bool = False,
        permissions: str | None = None,
    ) -> File:
        """Replaces a file atomically; missing folders are created.

        `if_match` (an `etag`) writes only if the file is in that state, otherwise the error has the
        code `changed`. `create` writes only if nothing exists there.
        """
        headers = {"if-match": if_match} if if_match else {}
        if create:
            headers["if-none-match"] = "*"
        mode = "append" if append else None
        file_entry = self._http.request(
            "PUT",
            path("/v1/sessions/{}/files/content", session),
            query={"path": file, "mode": mode, "permissions": permissions},
            content=content,
            headers=headers,
        )
        return cast(File, file_entry)

    def list(
        self,
        session: str,
        folder: str = "",
        *,
        depth: int = 1,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> FilePage:
        route = path("/v1/sessions/{}/files", session)
        query = {"path": folder, "depth": depth, "limit": limit, "cursor": cursor}
        return cast(FilePage, self._http.request("GET", route, query=query))

    def stat(self, session: str, file: str) -> File:
        route = path("/v1/sessions/{}/files/stat", session)
        return cast(File, self._http.request("GET", route, query={"path": file}))

    def mkdir(self, session: str, folder: str) -> File:
        """Creates a folder and its parents."""
        route = path("/v1/sessions/{}/files/folders", session)
        return cast(File, self._http.request("POST", route, json={"path": folder}))

    def move(self, session: str, source: str, to: str, *, overwrite: bool = False) -> File:
        route = path("/v1/sessions/{}/files/move", session)
        body = {"from": source, "to": to, "overwrite": overwrite}
        return cast(File, self._http.request("POST", route, json=body))

    def copy(
        self, session: str, source: str, to: str, *, overwrite: bool = False
    ) -> CopiedFile:
        route = path("/v1/sessions/{}/files/copy", session)
        body = {"from": source, "to": to, "overwrite": overwrite}
        return cast(CopiedFile, self._http.request("POST", route, json=body))

    def remove(self, session: str, file: str, *, recursive: bool = False) -> None:
        query = {"path": file, "recursive": True if recursive else None}
        self._http.raw("DELETE", path("/v1/sessions/{}/files", session), query=query)

    def search(
        self,
        session: str,
        *,
        name: str | None = None,
        content: str | None = None,
        **query: str | int | bool | None,
    ) -> SearchResult:
        """Finds names by a glob, and lines by a regular expression."""
        route = path("/v1/sessions/{}/files/search", session)
        query = {"name": name, "content": content, **query}
        return cast(SearchResult, self._http.request("GET", route, query=query))

    def download(self, session: str, folder: str = "", *, format: str = "tar.gz") -> bytes:
        """Returns a folder as an archive: `tar`, `tar.gz` or `zip`."""
        route = path("/v1/sessions/{}/files/archive", session)
        return (
            self._http.raw("GET", route, query={"path": folder, "format": format})
        ).content

    def unpack(self, session: str, archive: bytes, folder: str = "") -> None:
        """Unpacks an archive into a folder: all of it, or nothing."""
        route = path("/v1/sessions/{}/files/archive", session)
        self._http.raw("PUT", route, query={"path": folder}, content=archive)

    def watch(
        self,
        session: str,
        folder: str = "",
        *,
        recursive: bool = True,
        retry: Retry | None = None,
        on_state: OnState | None = None,
    ) -> Generator[FileChange, None]:
        """Yields the changes in a folder, from `ready` to `ended`.

        A watch has no position: after a broken connection it yields `rescan`, which means that
        everything has to be read again.
        """
        was_ready = False

        def read(message: SseMessage) -> tuple[FileChange | None, bool]:
            nonlocal was_ready
            if message.event == "reconnect":
                return None, False
            if message.event == "error":
                raise stream_error(message.data)
            change: FileChange = json.loads(message.data)
            if change["type"] == "ready":
                if was_ready:
                    change["type"] = "rescan"
                was_ready = True
            return change, change["type"] == "ended"

        route = path("/v1/sessions/{}/files/watch", session)
        query: Query = {"path": folder, "recursive": recursive}
        return resume(lambda: self._http.stream(route, query, {}), read, retry or Retry(), on_state)
