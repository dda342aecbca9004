# Generated from _async/attach.py by scripts/generate.py. Do not edit.
"""A program's or a terminal's output and input by WebSocket, over any number of sockets."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlencode

from .. import _frames as frames
from .._frames import Frame, Output
from .._retry import Delays, Retry
from ..errors import ApiError, ConnectionFailed, HeadwaterError, is_transient
from .http import Http

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection


class Attachment:
    """Use it in a `with` block, and iterate over it for the frames of the server.

    They come once and in order, also if connections break. Input that was on its way when a
    connection broke may be lost.
    """

    def __init__(
        self, http: Http, route: str, query: dict[str, str], retry: Retry | None = None
    ) -> None:
        self._http = http
        self._route = route
        self._query = query
        self._delays = Delays(retry or Retry())
        self._lock = threading.Lock()
        self._socket: ClientConnection | None = None
        self._closed = False

    def __enter__(self) -> Self:
        self._connect(None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leaves. The program keeps running."""
        self._closed = True
        if self._socket is not None:
            self._socket.close()

    def write(self, data: str | bytes) -> None:
        """Sends input: text or bytes for a program, keys for a terminal."""
        data = data.encode() if isinstance(data, str) else data
        # The server takes messages of up to 1 MiB.
        for start in range(0, len(data), 512 * 1024):
            self._send(frames.input_frame(data[start : start + 512 * 1024]))

    def end(self) -> None:
        """Ends the input; a terminal gets `^D`."""
        self._send(frames.eof_frame())

    def resize(self, rows: int, cols: int) -> None:
        if "rows" in self._query:
            self._query.update(rows=str(rows), cols=str(cols))
        self._send(frames.resize_frame(rows, cols))

    def signal(self, signal: int) -> None:
        """Sends a signal, by its number, to the foreground process group."""
        self._send(frames.signal_frame(signal))

    def __iter__(self) -> Generator[Frame, None]:
        from websockets.exceptions import ConnectionClosed

        while True:
            socket = self._socket or self._connect(None)
            try:
                data = socket.recv()
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else 1006
                reason = closed.rcvd.reason if closed.rcvd else ""
                if code == 1000 or self._closed:
                    return
                if code == 1008:
                    message = "the credential is no longer valid"
                    raise ApiError(401, "unauthenticated", message) from closed
                if code == 1011:
                    message = "the rest of the log cannot be read"
                    raise ApiError(0, reason or "internal", message) from closed
                self._connect(socket)
                continue
            frame = frames.decode_frame(data) if isinstance(data, bytes) else None
            if frame is not None:
                self._delays.reset()
                self._pass(frame)
                yield frame

    def _pass(self, frame: Frame) -> None:
        """Remembers where to continue."""
        if isinstance(frame, Output):
            self._query["after"] = str(frame.seq)
        elif frame.get("type") == "attached":
            self._query["execution_id"] = frame["execution_id"]
        elif "at_ms" in frame and "seq" in frame:
            self._query["after"] = str(frame["seq"])

    def _send(self, frame: bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        socket = self._socket or self._connect(None)
        while True:
            try:
                return socket.send(frame)
            except ConnectionClosed as closed:
                if self._closed or (closed.rcvd and closed.rcvd.code == 1000):
                    raise ConnectionFailed("the attachment is closed") from closed
                socket = self._connect(socket)

    def _connect(self, broken: ClientConnection | None) -> ClientConnection:
        """Replaces a broken socket, unless another task has done so already."""
        with self._lock:
            if self._socket is not None and self._socket is not broken:
                return self._socket
            while True:
                try:
                    self._socket = self._open()
                    return self._socket
                except HeadwaterError as error:
                    if not is_transient(error):
                        raise
                    time.sleep(self._delays.next(error))

    def _open(self) -> ClientConnection:
        try:
            from websockets.sync.client import connect
            from websockets.exceptions import InvalidHandshake, InvalidStatus
        except ImportError as error:
            raise HeadwaterError("WebSockets need `pip install headwater[terminal]`") from error

        # http becomes ws, and https becomes wss.
        url = f"ws{self._http.url.removeprefix('http')}{self._route}?{urlencode(self._query)}"
        try:
            connecting = connect(url, additional_headers=self._http.headers, max_size=None)
            return connecting.__enter__()
        except InvalidStatus as refused:
            response = refused.response
            body = bytes(response.body or b"")
            raise ApiError.read(response.status_code, response.headers, body) from refused
        except (OSError, EOFError, InvalidHandshake) as error:
            raise ConnectionFailed(f"the server cannot be reached: {error}") from error
