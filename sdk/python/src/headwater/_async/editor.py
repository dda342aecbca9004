"""The functions of a code editor: one call each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from .._shared import path
from ..types import (
    Build,
    DirectoryListing,
    ExecutionStatus,
    StartedExecution,
    TextFile,
    WrittenFile,
)
from .attach import AsyncAttachment
from .http import AsyncHttp
from .terminals import AsyncTerminals


class AsyncEditor:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def _post(self, route: str, **body: Any) -> Any:
        given = {name: value for name, value in body.items() if value is not None}
        return await self._http.request("POST", f"/v1/sessions/{route}", json=given)

    async def execute_python(
        self,
        session_id: str,
        code: str,
        file_path: str | None = None,
        args: Sequence[str] | None = None,
    ) -> StartedExecution:
        """Runs Python code in a session. With `file_path` the code is saved there first."""
        started = await self._post(
            "execute/python",
            session_id=session_id,
            language="python",
            code=code,
            file_path=file_path,
            args=None if args is None else list(args),
        )
        return cast(StartedExecution, started)

    async def build_cpp(
        self,
        session_id: str,
        source_files: Sequence[str],
        output_binary: str,
        compiler: Literal["g++", "clang++"] = "g++",
        flags: Sequence[str] = (),
    ) -> Build:
        """Compiles and links C++ files. Returns when the build has ended."""
        build = await self._post(
            "build/cpp",
            session_id=session_id,
            source_files=list(source_files),
            output_binary=output_binary,
            compiler=compiler,
            flags=list(flags),
        )
        return cast(Build, build)

    async def execute_binary(
        self, session_id: str, binary_path: str, args: Sequence[str] = ()
    ) -> StartedExecution:
        """Runs a program of the workspace."""
        started = await self._post(
            "execute/binary", session_id=session_id, binary_path=binary_path, args=list(args)
        )
        return cast(StartedExecution, started)

    async def save_file(self, session_id: str, file: str, content: str) -> WrittenFile:
        """Writes or replaces a file; missing folders are created."""
        written = await self._post("files/write", session_id=session_id, path=file, content=content)
        return cast(WrittenFile, written)

    async def read_file(self, session_id: str, file: str) -> TextFile:
        return cast(TextFile, await self._post("files/read", session_id=session_id, path=file))

    async def list_files(self, session_id: str, directory: str = ".") -> DirectoryListing:
        listing = await self._post("files/list", session_id=session_id, directory=directory)
        return cast(DirectoryListing, listing)

    def create_terminal_web_socket(self, session_id: str) -> AsyncAttachment:
        """Opens the terminal of a session. Needs `pip install headwater[terminal]`."""
        return AsyncTerminals(self._http).open(session_id)

    async def get_execution_status(self, execution_id: str) -> ExecutionStatus:
        """The status of an execution, with its output so far."""
        route = path("/v1/sessions/executions/{}", execution_id)
        return cast(ExecutionStatus, await self._http.request("GET", route))
