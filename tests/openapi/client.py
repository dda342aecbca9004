"""Runs one execution with the client that openapi-python-client generated. Arguments: the server's URL and a token."""

import sys

from headwater_client import AuthenticatedClient
from headwater_client.api.executions import get_execution, list_executions, start_execution_in_session
from headwater_client.api.sessions import create_session, delete_session
from headwater_client.api.streams import get_execution_output
from headwater_client.models import (
    Error,
    Execution,
    ExecutionPage,
    GetExecutionOutputStream,
    Session,
    SessionRequest,
    StartRequest,
    Until,
)

url, token = sys.argv[1:]
with AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True) as client:
    session = create_session.sync(client=client, body=SessionRequest(name="python"))
    assert isinstance(session, Session), session
    request = StartRequest(shell="echo from python; exit 3")
    started = start_execution_in_session.sync(session.id, client=client, body=request)
    assert isinstance(started, Execution), started
    execution = get_execution.sync(started.id, client=client, wait="60s", until=Until.CLOSED)
    assert isinstance(execution, Execution), execution
    assert (execution.state, execution.exit_.reason, execution.exit_.code) == ("closed", "exited", 3), execution
    output = get_execution_output.sync_detailed(started.id, client=client, stream=GetExecutionOutputStream.STDOUT)
    assert output.content == b"from python\n", output
    page = list_executions.sync(client=client, session_id=session.id)
    assert isinstance(page, ExecutionPage) and [item.id for item in page.items] == [started.id], page
    missing = get_execution.sync("exe_" + "0" * 32, client=client)
    assert isinstance(missing, Error) and missing.error.code == "not_found", missing
    deleted = delete_session.sync_detailed(session.id, client=client)
    assert deleted.status_code == 204, deleted
print("the generated Python client ran an execution")
