"""Builds of C, C++ and other languages."""

from __future__ import annotations

from typing import Unpack, cast

import httpx

from .._shared import path
from ..types import Build, BuildPage, BuildRequest
from .http import AsyncHttp


class AsyncBuilds:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def start(
        self, session: str, *, idempotency_key: str | None = None, **request: Unpack[BuildRequest]
    ) -> Build:
        """Builds in a session; returns when the build has ended."""
        build = await self._http.once(
            path("/v1/sessions/{}/builds", session),
            idempotency_key,
            json=request,
            timeout=httpx.Timeout(None, connect=10.0),
        )
        return cast(Build, build)

    async def get(self, build: str, *, wait: str | None = None) -> Build:
        """Returns a build: at once, or with `wait` (`30s`) when it has ended."""
        route = path("/v1/builds/{}", build)
        return cast(Build, await self._http.request("GET", route, query={"wait": wait}))

    async def list(self, session: str, **query: str | int | None) -> BuildPage:
        route = path("/v1/sessions/{}/builds", session)
        return cast(BuildPage, await self._http.request("GET", route, query=query))

    async def cancel(self, build: str) -> None:
        await self._http.raw("POST", path("/v1/builds/{}/cancel", build))
