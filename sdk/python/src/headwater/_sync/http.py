# Generated from _async/http.py by scripts/generate.py. Do not edit.
"""Requests to the server: addresses, bodies, errors."""

from __future__ import annotations

import time
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from .._retry import Delays, Retry
from .._shared import SILENCE_SECONDS, Query, address, credential, params
from ..errors import ApiError, ConnectionFailed, HeadwaterError, is_transient

_TIMEOUT = httpx.Timeout(90.0, connect=10.0)


class Http:
    """Sends requests. The groups of the client are built on it."""

    def __init__(
        self, url: str | None, token: str | None, transport: httpx.BaseTransport | None
    ) -> None:
        self.url = address(url)
        self.headers = credential(token)
        self._client = httpx.Client(
            base_url=self.url, headers=self.headers, timeout=_TIMEOUT, transport=transport
        )

    def close(self) -> None:
        self._client.close()

    def raw(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        json: Any = None,
        content: bytes | str | None = None,
        headers: dict[str, str] | None = None,
        timeout: httpx.Timeout = _TIMEOUT,
    ) -> httpx.Response:
        """Sends a request; returns the response, which is a success."""
        headers = dict(headers or {})
        if content is not None:
            headers.setdefault("content-type", "application/octet-stream")
        try:
            response = self._client.request(
                method,
                path,
                params=params(query or {}),
                json=json,
                content=content,
                headers=headers,
                timeout=timeout,
            )
        except httpx.TransportError as error:
            raise ConnectionFailed(f"the server cannot be reached: {error}") from error
        if not response.is_success:
            raise ApiError.read(response.status_code, response.headers, response.content)
        return response

    def request(self, method: str, path: str, **options: Any) -> Any:
        """Sends a request; returns the JSON of the response, None if it has none."""
        response = self.raw(method, path, **options)
        return response.json() if response.content else None

    def once(self, path: str, key: str | None, **options: Any) -> Any:
        """Sends a `POST` that has its effect once, however often it is sent.

        It has an `Idempotency-Key`, and is sent again, five times at most, if the connection breaks
        or the server cannot answer now.
        """
        headers = {"idempotency-key": key or secrets.token_hex(16)}
        delays = Delays(Retry(max_retries=5))
        while True:
            try:
                return self.request("POST", path, headers=headers, **options)
            except HeadwaterError as error:
                if not is_transient(error):
                    raise
                time.sleep(delays.next(error))

    @contextmanager
    def stream(
        self, path: str, query: Query, headers: dict[str, str]
    ) -> Iterator[httpx.Response]:
        """Opens a stream of events. Its response is a success."""
        timeout = httpx.Timeout(SILENCE_SECONDS, connect=10.0)
        headers = {"accept": "text/event-stream", **headers}
        try:
            with self._client.stream(
                "GET", path, params=params(query), headers=headers, timeout=timeout
            ) as response:
                if not response.is_success:
                    body = response.read()
                    raise ApiError.read(response.status_code, response.headers, body)
                yield response
        except httpx.TransportError as error:
            raise ConnectionFailed(f"the connection broke: {error}") from error
