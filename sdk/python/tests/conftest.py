"""One real server for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headwater import Headwater

from .server import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def client(server: Server) -> Iterator[Headwater]:
    with Headwater(server.url, server.token) as client:
        yield client
