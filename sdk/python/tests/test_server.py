"""Both clients against the real server."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headwater import (
    ApiError,
    AsyncHeadwater,
    ConnectionState,
    Headwater,
    Output,
    output_bytes,
)

from .server import Server

LINES = "for i in $(seq 1 300); do echo line $i; sleep 0.01; done"
EXPECTED = "".join(f"line {i}\n" for i in range(1, 301)).encode()


def test_run_returns_what_a_program_wrote_and_how_it_ended(client: Headwater) -> None:
    seen: list[str] = []
    result = client.run(
        shell="echo out; echo err >&2; exit 3", on_event=lambda event: seen.append(event["type"])
    )
    assert (result.ok, result.reason, result.code) == (False, "exited", 3)
    assert (result.stdout, result.stderr, result.output) == ("out\n", "err\n", "")
    assert sorted(seen) == ["exited", "started", "stderr", "stdout"]
    assert client.run(language="python", code="print(6 * 7)").stdout == "42\n"
    assert client.run(argv=["pyton"]).reason == "setup_failed"


def test_the_same_key_starts_one_execution(client: Headwater) -> None:
    first = client.executions.start(shell="true", idempotency_key="k")
    assert client.executions.start(shell="true", idempotency_key="k")["id"] == first["id"]
    with pytest.raises(ApiError) as caught:
        client.executions.start(shell="false", idempotency_key="k")
    assert (caught.value.status, caught.value.code) == (422, "key_reused")
    assert caught.value.request_id


def test_input_output_and_control(client: Headwater) -> None:
    cat = client.executions.start(argv=["cat"], stdin="open")["id"]
    client.executions.write(cat, "grüße\n")
    client.executions.write(cat, b"\x00\xff", eof=True)
    assert client.executions.get(cat, wait="30s")["state"] != "running"
    assert client.executions.output(cat) == "grüße\n".encode() + b"\x00\xff"
    sleep = client.executions.start(argv=["sleep", "60"])["id"]
    assert client.executions.processes(sleep)
    client.executions.cancel(sleep)
    ended = client.executions.get(sleep, wait="30s", until="closed")
    exit = ended.get("exit")
    assert exit is not None and exit["reason"] == "cancelled"
    assert sleep in [item["id"] for item in client.executions.list(limit=50)["items"]]
    client.executions.remove(sleep)


def test_a_server_killed_while_followed_loses_and_repeats_nothing(
    server: Server, client: Headwater
) -> None:
    states: list[ConnectionState] = []
    written, last = b"", 0
    restart = threading.Thread(target=server.kill_and_restart)
    execution = client.executions.start(shell=LINES)["id"]
    for event in client.executions.follow(execution, batch_ms=0, on_state=states.append):
        assert event["seq"] > last
        last = event["seq"]
        if event["type"] == "stdout":
            written += output_bytes(event)
            if b"line 50\n" in written and restart.ident is None:
                restart.start()
    restart.join()
    assert written == EXPECTED
    assert "reconnecting" in states and states[-1] == "closed"


async def test_the_asynchronous_client_follows_over_a_killed_server(server: Server) -> None:
    written = b""
    restart = threading.Thread(target=server.kill_and_restart)
    async with AsyncHeadwater(server.url, server.token) as client:
        execution = (await client.executions.start(shell=LINES))["id"]
        async for event in client.executions.follow(execution, batch_ms=0):
            if event["type"] == "stdout":
                written += output_bytes(event)
                if b"line 50\n" in written and restart.ident is None:
                    restart.start()
        restart.join()
        result = await client.run(language="python", code="print('async')")
        assert result.stdout == "async\n"
    assert written == EXPECTED


def test_files(client: Headwater) -> None:
    session = client.sessions.create(name="files")["id"]
    files = client.files
    made = files.write(session, "/workspace/src/ü b.txt", "one\ntwo\n", create=True)
    assert made["path"] == "src/ü b.txt"
    assert files.read_text(session, "src/ü b.txt") == "one\ntwo\n"
    with pytest.raises(ApiError):
        files.write(session, made["path"], "x", create=True)
    etag = made["etag"]
    files.write(session, made["path"], b"three\n", append=True, if_match=etag)
    with pytest.raises(ApiError) as caught:
        files.write(session, made["path"], "x", if_match=etag)
    assert caught.value.code == "changed"
    files.mkdir(session, "empty")
    files.copy(session, made["path"], "copy.txt")
    files.move(session, "copy.txt", "moved.txt")
    entries = [item["path"] for item in files.list(session, depth=5)["items"]]
    assert entries == ["empty", "moved.txt", "src", "src/ü b.txt"]
    found = [item["path"] for item in files.search(session, content="thr.e")["items"]]
    assert found == ["moved.txt", "src/ü b.txt"]
    archive = files.download(session)
    files.remove(session, "src", recursive=True)
    files.unpack(session, archive)
    assert files.stat(session, made["path"])["size"] == 14
    client.sessions.end("files")


def test_a_watch_says_to_read_again_after_a_restart(server: Server, client: Headwater) -> None:
    session = client.sessions.create()["id"]
    seen: list[str] = []
    for change in client.files.watch(session):
        seen.append(change["type"])
        if change["type"] == "ready":
            client.files.write(session, "a.txt", "a")
        elif change["type"] == "created":
            server.kill_and_restart()
        elif change["type"] == "rescan":
            client.sessions.end(session)
    assert seen[:2] == ["ready", "created"] and "rescan" in seen and seen[-1] == "ended"


def test_sessions_and_builds(client: Headwater) -> None:
    session = client.sessions.create(env={"A": "1"})["id"]
    assert client.sessions.update(session, name="renamed").get("name") == "renamed"
    assert client.sessions.get("renamed")["id"] == session
    client.files.write(session, "main.cpp", '#include <cstdio>\nint main() { puts("built"); }\n')
    snapshot = client.sessions.snapshot(session, "before")["id"]
    build = client.builds.start(
        session, kind="cpp", source_files=["main.cpp"], output_binary="main", compiler="g++"
    )
    assert build["status"] == "success"
    assert client.builds.get(build["build_id"])["status"] == "success"
    assert client.run(argv=["/workspace/main"], session=session).stdout == "built\n"
    client.sessions.restore(session, snapshot)
    assert [item["path"] for item in client.files.list(session)["items"]] == ["main.cpp"]
    copy = client.sessions.fork(session)["id"]
    assert client.sessions.hibernate(copy)["state"] == "hibernated"
    assert client.sessions.usage(session)["state"] == "ready"
    assert {copy, session} <= {item["id"] for item in client.sessions.list()["items"]}
    for each in (session, copy):
        client.sessions.end(each)
    assert any(language["name"] == "python" for language in client.languages())
    assert client.me()["role"] == "admin"
    assert client.info()["version"]


def test_attach_sends_input(client: Headwater) -> None:
    execution = client.executions.start(argv=["cat"], stdin="open")["id"]
    with client.executions.attach(execution) as attachment:
        attachment.write("grüße\n")
        attachment.write(b"\x00\xff")
        attachment.end()
        frames = list(attachment)
    data = b"".join(frame.data for frame in frames if isinstance(frame, Output))
    assert data == "grüße\n".encode() + b"\x00\xff"
    last = frames[-1]
    assert not isinstance(last, Output) and last["type"] == "closed"
    with pytest.raises(ApiError) as caught, client.executions.attach("exe_" + "0" * 32):
        pass
    assert caught.value.code == "not_found"


def test_a_terminal_continues_after_a_restart(server: Server, client: Headwater) -> None:
    session = client.sessions.create()["id"]
    shown, restarted = b"", False
    with client.terminals.open(session, rows=24, cols=80) as terminal:
        terminal.write("stty -echo; echo on$((1 + 0))e\r")
        for frame in terminal:
            shown += frame.data if isinstance(frame, Output) else b""
            if not restarted and b"on1e" in shown:
                restarted = True
                server.kill_and_restart()
                terminal.resize(30, 100)
                terminal.write("echo tw$((1 + 1))o; stty size\r")
            if b"tw2o" in shown and b"30 100" in shown:
                break
    assert [terminal["name"] for terminal in client.terminals.list(session)] == ["main"]
    assert client.terminals.screen(session)
    client.sessions.end(session)


async def test_an_asynchronous_terminal(server: Server) -> None:
    async with AsyncHeadwater(server.url, server.token) as client:
        session = (await client.sessions.create())["id"]
        shown = b""
        async with client.terminals.open(session) as terminal:
            await terminal.write("echo an$((40 + 2))swer\r")
            async for frame in terminal:
                shown += frame.data if isinstance(frame, Output) else b""
                if b"an42swer" in shown:
                    break
        await client.sessions.end(session)


def test_the_first_program_of_the_readme(server: Server) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    match = re.search(r"<!-- test: first program -->\s+```python\n(.*?)```", readme, re.DOTALL)
    assert match is not None
    program = match[1]
    assert len(program.splitlines()) <= 10
    env = {"HEADWATER_URL": server.url, "HEADWATER_TOKEN": server.token}
    run = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
    )
    assert run.stdout == "True 0 line 0\nline 1\nline 2\n\n"


def test_the_functions_of_an_editor(client: Headwater) -> None:
    editor, session = client.editor, client.sessions.create(name="session-1")["id"]

    def printed(execution: str) -> str | None:
        client.executions.get(execution, wait="30s", until="closed")
        return editor.get_execution_status(execution).get("stdout")

    source = "#include <cstdio>\nint main(int c, char **v) { puts(v[c - 1]); }\n"
    editor.save_file("session-1", "/src/main.cpp", source)
    assert editor.read_file("session-1", "/src/main.cpp")["content"] == source
    listing = editor.list_files("session-1", "/src")
    assert [file["name"] for file in listing["files"]] == ["main.cpp"]
    code = "import sys; print(sys.argv[1:])"
    python = editor.execute_python("session-1", code, "/src/main.py", ["a"])
    assert printed(python["execution_id"]) == "['a']\n"
    build = editor.build_cpp("session-1", ["/src/main.cpp"], "/workspace/build/main")
    assert build["status"] == "success"
    binary = editor.execute_binary("session-1", "/workspace/build/main", ["--verbose"])
    assert printed(binary["execution_id"]) == "--verbose\n"
    with editor.create_terminal_web_socket("session-1") as terminal:
        terminal.write("echo an$((40 + 2))swer\r")
        shown = b""
        for frame in terminal:
            shown += frame.data if isinstance(frame, Output) else b""
            if b"an42swer" in shown:
                break
    client.sessions.end(session)


def test_templates_and_reruns(client: Headwater) -> None:
    assert "python" in [template["name"] for template in client.templates()]
    session = client.sessions.create(template="python")["id"]
    first = client.run(shell='echo "$A"; ls', env={"A": "kept"}, session=session)
    assert first.stdout == "kept\nmain.py\ntest_main.py\n"
    again = client.executions.rerun(first.id)["id"]
    client.executions.get(again, wait="30s", until="closed")
    assert client.executions.output(again, stream="stdout") == first.stdout.encode()
    client.sessions.end(session)
