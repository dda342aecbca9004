# Generated from _async/editor.py by scripts/generate.py. Do not edit.
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
from .attach import Attachment
from .http import Http
from .terminals import Terminals


class Editor:
    def __init__(self, http: Http) -> None:
        self._http = http

    def _post(self, route: str, **body: Any) -> Any:
        given = {name: value for name, value in body.items() if value is not None}
        return self._http.request("POST", f"/v1/sessions/{route}", json=given)

    def execute_python(
        self,
        session_id: str,
        code: str,
        file_path: str | None = None,
        args: Sequence[str] | None = None,
    ) -> StartedExecution:
        """Runs Python code in a session. With `file_path` the code is saved there first."""
        started = self._post(
            "execute/python",
            session_id=session_id,
            language="python",
            code=code,
            file_path=file_path,
            args=None if args is None else list(args),
        )
        return cast(StartedExecution, started)

    def build_cpp(
        self,
        session_id: str,
        source_files: Sequence[str],
        output_binary: str,
        compiler: Literal["g++", "clang++"] = "g++",
        flags: Sequence[str] = (),
    ) -> Build:
        """Compiles and links C++ files. Returns when the build has ended."""
        build = self._post(
            "build/cpp",
            session_id=session_id,
            source_files=list(source_files),
            output_binary=output_binary,
            compiler=compiler,
            flags=list(flags),
        )
        return cast(Build, build)

    def execute_binary(
        self, session_id: str, binary_path: str, args: Sequence[str] = ()
    ) -> StartedExecution:
        """Runs a program of the workspace."""
        started = self._post(
            "execute/binary", session_id=session_id, binary_path=binary_path, args=list(args)
        )
        return cast(StartedExecution, started)

    def save_file(self, session_id: str, file: str, content: str) -> WrittenFile:
        """Writes or replaces a file; missing folders are created."""
        written = self._post("files/write", session_id=session_id, path=file, content=content)
        return cast(WrittenFile, written)

    def read_file(self, session_id: str, file: str) -> TextFile:
        return cast(TextFile, self._post("files/read", session_id=session_id, path=file))

    def list_files(self, session_id: str, directory: str = ".") -> DirectoryListing:
        listing = self._post("files/list", session_id=session_id, directory=directory)
        return cast(DirectoryListing, listing)

    def create_terminal_web_socket(self, session_id: str) -> Attachment:
        """Opens the terminal of a session. Needs `pip install headwater[terminal]`."""
        return Terminals(self._http).open(session_id)

    def get_execution_status(self, execution_id: str) -> ExecutionStatus:
        """The status of an execution, with its output so far."""
        route = path("/v1/sessions/executions/{}", execution_id)
        return cast(ExecutionStatus, self._http.request("GET", route))
