"""The official Python SDK of the Model Context Protocol drives the tools over stdio and over HTTP, in both eras.

Usage: client.py HEADWATER DATA_FOLDER URL TOKEN"""

import asyncio
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

# The handshake, and the version without one.
MODES = [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")]


def text(result):
    assert not result.is_error, result
    return result.content[0].text


async def drive(client):
    assert client.server_info is None or client.server_info.name == "headwater", client.server_info
    tools = (await client.list_tools()).tools
    assert {"exec_command", "apply_patch", "wait"} <= {tool.name for tool in tools}

    result = await client.call_tool("exec_command", {"cmd": "echo from-python"})
    assert "from-python" in text(result)
    assert result.structured_content["output"] == text(result)

    # Calls at the same time keep their outputs apart.
    calls = [client.call_tool("exec_command", {"cmd": f"echo begin-{n}; echo end-{n}"}) for n in range(10)]
    for n, result in enumerate(await asyncio.gather(*calls)):
        assert f"begin-{n}\nend-{n}\n" in text(result), result

    # A background command is waited for in one call.
    started = await client.call_tool("exec_command", {"cmd": "sleep 2; echo slept", "yield_time_ms": 250})
    number = started.structured_content["session_id"]
    waited = text(await client.call_tool("wait", {"session_ids": [number]}))
    assert "exited with code 0" in waited, waited

    seen = []

    async def progress(now, total, message):
        seen.append(now)

    command = {"command": "for i in 1 2 3 4; do echo $i; sleep 0.2; done", "timeout_ms": 100000}
    await client.call_tool("shell_command", command, progress_callback=progress)
    assert seen and seen == sorted(set(seen)), seen

    resources = (await client.list_resources()).resources
    output = next(str(resource.uri) for resource in resources if str(resource.uri).startswith("exec://"))
    contents = (await client.read_resource(output)).contents
    assert contents[0].text, contents
    prompts = (await client.list_prompts()).prompts
    assert "fix_tests" in {prompt.name for prompt in prompts}

    wrong = await client.call_tool("exec_command", {"cmd": 5})
    assert wrong.is_error and "cmd" in wrong.content[0].text, wrong


async def main(binary, data, url, token):
    for mode, version in MODES:
        stdio = StdioServerParameters(command=binary, args=["mcp", "--data", data])
        async with httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=300) as http:
            for name, server in [("stdio", stdio), ("HTTP", streamable_http_client(url, http_client=http))]:
                async with Client(server, mode=mode) as client:
                    assert client.protocol_version == version, client.protocol_version
                    await drive(client)
                print(f"the Python SDK of MCP, {version}, over {name}: ok")


asyncio.run(main(*sys.argv[1:]))
