"""The types of the API, generated from docs/openapi.json by scripts/generate.py."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class Answer(TypedDict):
    """An answer to a question."""

    # The question.
    id: str
    # The answer.
    answer: str


class AnswersRequest(TypedDict):
    """The answers of a person to questions of the agent."""

    # One answer for each question.
    answers: list[Answer]


class Approval(TypedDict):
    """A person's consent to one command."""

    # Unique in the conversation.
    approval_id: str
    # What the person reads: the exact command, why they are asked, and the marked words of the agent.
    text: str
    # What would be allowed from now on, if the agent proposes a rule.
    rule_text: NotRequired[str | None]
    # The proposed rule as the tools know it, by which later commands of the conversation are allowed.
    rule: NotRequired[Any]
    # The fingerprint of what is allowed: a consent holds for nothing else.
    fingerprint: str
    decision: NotRequired[ApprovalDecision | None]
    # Why the person decided so.
    reason: NotRequired[str | None]
    # Who decided.
    decided_by: NotRequired[str | None]


class ApprovalRequest(TypedDict):
    """The answer of a person to a request for consent."""

    # The decision.
    decision: ApprovalDecision
    # Why; the agent reads it.
    reason: NotRequired[str | None]


class Attachment(TypedDict):
    """A file of the workspace."""

    # The name that the person gave it.
    name: str
    # Its path in the workspace.
    path: str
    # For example `image/png`.
    media_type: str
    # Its length.
    size_bytes: int


class AuditRow(TypedDict):
    """One recorded action, whether it was allowed or denied."""

    # When it happened.
    at: Timestamp
    # The user; empty if unknown.
    owner: str
    # The id of the token that was used.
    token_id: str
    # The action, such as `execution.start`.
    action: str
    # The object that it was applied to, or the requested path.
    object: str
    # The address of the client.
    address: str
    # Details for people.
    detail: str
    # `ok` or `denied`.
    result: str


class AuditRowPage(TypedDict):
    """A page of a list."""

    # The items of this page.
    items: list[AuditRow]
    # The cursor of the next page (`cursor=`); absent on the last page.
    next_cursor: NotRequired[str | None]


class BinaryRequest(TypedDict):
    """A program to run."""

    # The session's id or name.
    session_id: str
    # The program's path in the workspace.
    binary_path: str
    # The program's arguments.
    args: NotRequired[list[str]]


class Branch(TypedDict):
    """The current branch."""

    # Its last message.
    leaf_id: MessageId


class Build(TypedDict):
    """A build and its result."""

    # Use it with the routes below `/v1/builds`.
    build_id: str
    # The session whose workspace it is for.
    session_id: str
    # `cpp`, `c`, `cmake`, `make` or `language`.
    kind: str
    # The status of the build.
    status: BuildStatus
    # `Compiled successfully`, or the output in the session.
    stdout: str
    # The output of the compilers and the linker.
    stderr: str
    # Whether `stdout`, `stderr` or `diagnostics` is incomplete; the execution `execution_id` has the whole output.
    truncated: bool
    # The paths of the files that the build created. For `cmake` and `make`: the programs and shared libraries in the build folder, or in the folder of the makefile, at most 100.
    artifacts: list[str]
    # The messages of the compilers.
    diagnostics: list[Diagnostic]
    # Whether nothing had to be compiled or linked.
    cached: bool
    # The number of sources that were taken from the cache.
    cached_objects: int
    # The execution that runs the build, which can be followed and cancelled like any other. None if everything was cached.
    execution_id: NotRequired[str | None]
    # The time from the request to the end.
    duration_ms: NotRequired[int | None]
    # When the build was requested.
    created_at: Timestamp


class BuildPage(TypedDict):
    """A page of a list."""

    # The items of this page.
    items: list[Build]
    # The cursor of the next page (`cursor=`); absent on the last page.
    next_cursor: NotRequired[str | None]


class BuildRequest(TypedDict):
    """A request to build."""

    # What kind of build it is.
    kind: BuildKind
    # `cpp`, `c`, `language`: the sources.
    source_files: NotRequired[list[str]]
    # `cpp`, `c`, `language`: the path of the binary in the workspace.
    output_binary: NotRequired[str | None]
    # `cpp`, `c`: a compiler that the operator allows.
    compiler: NotRequired[str | None]
    # `cpp`, `c`, `language`: flags for the compiler.
    flags: NotRequired[list[str]]
    # `cpp`, `c`: sanitizers.
    sanitize: NotRequired[list[str]]
    # `language`: the name of the language.
    language: NotRequired[str | None]
    # `cmake`, `make`: the folder of the project; the workspace if absent.
    source_dir: NotRequired[str | None]
    # `cmake`: the build folder. If absent it is `/workspace/build` (`SESSION_BUILD_PATH`) for a project in the workspace itself, and a folder in it for each other `source_dir`.
    build_dir: NotRequired[str | None]
    # `cmake`: a configure preset.
    preset: NotRequired[str | None]
    # `cmake`: `Debug`, `Release` and so on.
    build_type: NotRequired[str | None]
    # `cmake`, `make`: the target to build.
    target: NotRequired[str | None]
    # `cmake`, `make`: additional arguments.
    args: NotRequired[list[str]]
    # The build is ended after this number of milliseconds.
    timeout_ms: NotRequired[int | None]


class Caller(TypedDict):
    """The caller."""

    # The owner of everything that is created with this credential.
    owner: str
    # The role of a user or token.
    role: Literal['admin', 'member', 'reader']
    # The kind of credential: `token`, `cookie`, `link`, `sign_in` or `jwt`.
    credential: str
    # What identifies the credential in the audit log.
    credential_id: str
    # The sessions that it is restricted to; absent: all.
    sessions: NotRequired[list[str] | None]
    # The conversation that it is restricted to; absent: all.
    conversation: NotRequired[str | None]
    # The scopes that it is restricted to; absent: everything that its role allows.
    scopes: NotRequired[list[str] | None]
    user: NotRequired[User | None]


class CancelRequest(TypedDict):
    """Options for cancelling."""

    # The time between SIGTERM and SIGKILL; 0 kills immediately. If absent, the execution's own grace period.
    grace_ms: NotRequired[int | None]


class ChmodRequest(TypedDict):
    """A change of permissions."""

    # A path in the workspace.
    path: str
    # The new permissions in octal digits, `000` to `777`.
    mode: str
    encoding: NotRequired[PathEncoding | None]


class CodeExecutionOutputEvent(TypedDict):
    """An event for a tool card."""

    # `TOOL_CALL_START`, `CODE_EXECUTION_OUTPUT` or `TOOL_RESULT`.
    type: str
    # The conversation, if the call belongs to one.
    thread_id: NotRequired[str | None]
    # When it happened.
    timestamp: Timestamp
    # Output of a call.
    payload: dict[str, Any]


class CodeExecutionRequest(TypedDict):
    """A call of `code_execution`."""

    # `terminal` (bash), `python` or `nodejs`.
    runtime: str
    # The source code.
    code: str
    # The timeout in seconds: 60 if absent, at most 86400. After it the program gets SIGTERM, and SIGKILL 5 s later.
    timeout: NotRequired[float | None]
    # The working directory, relative to the workspace, which is the default.
    cwd: NotRequired[str | None]
    # Deprecated: use `cwd`.
    working_dir: NotRequired[str | None]
    # The path in the workspace at which the code is saved before it runs.
    save_to_file: NotRequired[str | None]
    # Calls with the same id share a session: files and installed packages are kept, variables and imports are not, because every call is a new process.
    interactive_id: NotRequired[str | None]
    # The standard input; empty if absent.
    stdin: NotRequired[str | None]
    # The caller's id for this call, which is in all its events. The execution's id if absent.
    tool_call_id: NotRequired[str | None]
    # The conversation whose streams show the call.
    conversation_id: NotRequired[str | None]
    # Another name for `conversation_id`.
    thread_id: NotRequired[str | None]
    # The session that it runs in: its id, its name or a unique prefix of its id.
    session_id: NotRequired[str | None]


class ArgvCommand(TypedDict):
    """A program and its arguments, searched in `PATH`."""

    # A program and its arguments, searched in `PATH`.
    argv: list[str]


class ShellCommand(TypedDict):
    """A shell command line."""

    # A shell command line.
    shell: str


class CodeCommand(TypedDict):
    """Source code in a language of the registry."""

    code: CommandCode


class CommandCode(TypedDict):
    """Source code in a language of the registry."""

    # The name of the language.
    language: str
    # The source code.
    code: str
    # A path in the workspace where the code is saved before it runs, and kept.
    file: NotRequired[str | None]
    # Arguments for the code.
    args: NotRequired[list[str]]


class CompileCommand(TypedDict):
    """How one source is compiled: an entry of a compilation database."""

    # The working directory of the compiler.
    directory: str
    # The path of the source.
    file: str
    # The compiler and its arguments.
    arguments: list[str]


class Conversation(TypedDict):
    """A conversation with an agent."""

    # Its id.
    id: ConversationId
    # The title, if it has one.
    title: NotRequired[str | None]
    # The owner.
    owner: str
    # The session that the agent works in, once there is one.
    session_id: NotRequired[str | None]
    # The model, by its name in the configuration; the default one if absent.
    model: NotRequired[str | None]
    # When a person is asked.
    approval_policy: ApprovalPolicyName
    # What the agent may do.
    mode: ConversationMode
    # What is added to the instructions of the agent.
    instructions: NotRequired[str | None]
    parent_id: NotRequired[ConversationId | None]
    # Whether it is put aside.
    is_archived: bool
    # Whether the end of a command that runs on in the background begins a turn.
    wakes: bool
    # Whether the model's provider may search the web for it.
    web_search: NotRequired[bool]
    # The MCP servers that were added to it, by name. Those of the server's configuration are not listed.
    mcp_servers: NotRequired[dict[str, McpServer]]
    # Whether a turn runs.
    is_running: bool
    # Whether a person is asked.
    is_waiting: bool
    # When it was created.
    created_at: Timestamp
    # When somebody last wrote, or was asked something.
    last_activity_at: Timestamp
    # The beginning of the last message.
    excerpt: NotRequired[str | None]


class ConversationPage(TypedDict):
    """A page of a list."""

    # The items of this page.
    items: list[Conversation]
    # The cursor of the next page (`cursor=`); absent on the last page.
    next_cursor: NotRequired[str | None]


class ConversationPatch(TypedDict):
    """A change of a conversation. Absent fields keep their values."""

    # Another title.
    title: NotRequired[str | None]
    # Whether it is put aside.
    is_archived: NotRequired[bool | None]
    # Another model; an empty text selects the default one.
    model: NotRequired[str | None]
    approval_policy: NotRequired[ApprovalPolicyName | None]
    mode: NotRequired[ConversationMode | None]
    # Another session: its id or its name.
    session_id: NotRequired[str | None]
    # Other instructions; an empty text removes them.
    instructions: NotRequired[str | None]
    # Whether the end of a command that runs on in the background begins a turn.
    wakes: NotRequired[bool | None]
    # Whether the model's provider may search the web for it.
    web_search: NotRequired[bool | None]
    # MCP servers that are added or replaced, by name; `null` removes one. Others stay.
    mcp_servers: NotRequired[dict[str, McpServerRequest]]


class ConversationRequest(TypedDict):
    """A request for a conversation."""

    id: NotRequired[ConversationId | None]
    # The title; the first message gives one if it is absent.
    title: NotRequired[str | None]
    # The session that the agent works in: its id or its name. If absent, the first call of a tool creates one.
    session_id: NotRequired[str | None]
    # The model, by its name in the configuration; the default one if absent.
    model: NotRequired[str | None]
    approval_policy: NotRequired[ApprovalPolicyName | None]
    mode: NotRequired[ConversationMode | None]
    # What is added to the instructions of the agent.
    instructions: NotRequired[str | None]
    # Whether the end of a command that runs on in the background begins a turn.
    wakes: NotRequired[bool | None]
    # Whether the model's provider may search the web for it: not if absent.
    web_search: NotRequired[bool | None]
    # More MCP servers for the agent, by name.
    mcp_servers: NotRequired[dict[str, McpServerRequest]]


class ConversationShare(TypedDict):
    """A link to a conversation."""

    # `shr_` and 32 hexadecimal digits.
    id: str
    # The conversation that the link opens.
    conversation_id: str
    # The access that a link gives.
    access: Literal['read', 'write']
    # The user who created the link.
    made_by: str
    created_at: Timestamp
    expires_at: Timestamp
    revoked_at: NotRequired[Timestamp | None]
    # The secret that opens the conversation, for `Authorization: Bearer` or `?token=`; returned only when the link is created.
    token: NotRequired[str | None]


class ConversationShareList(TypedDict):
    """All links to a conversation."""

    # Oldest first.
    items: list[ConversationShare]


class CopiedFile(TypedDict):
    """The result of a copy."""

    # The entry at the new path.
    file: File
    # The total size of all files in it.
    bytes: int
    # The number of files, folders and links.
    files: int
    # The number of entries that were not copied: FIFOs, sockets, devices, and entries that vanished meanwhile.
    skipped: int


class CppRequest(TypedDict):
    """C++ files to compile into one binary."""

    # The session's id or name.
    session_id: str
    # Paths in the workspace: `/src/main.cpp`, `/workspace/src/main.cpp` and `src/main.cpp` are the same file.
    source_files: list[str]
    # The path of the binary in the workspace.
    output_binary: str
    # A compiler that the operator allows, such as `g++` or `clang++`; the operator's default if absent.
    compiler: NotRequired[str | None]
    # Flags for the compiler and the linker.
    flags: NotRequired[list[str]]
    # Sanitizers: `address`, `undefined`, `thread`, `leak`.
    sanitize: NotRequired[list[str]]
    # The build's timeout, at most what the operator allows.
    timeout_ms: NotRequired[int | None]
    # The conversation whose streams show the build, unless everything is cached.
    conversation_id: NotRequired[str | None]
    # The caller's id for the call, which is in all events of its execution. The execution's id if absent.
    tool_call_id: NotRequired[str | None]
    # Whether to respond only when the build has ended.
    wait: NotRequired[bool]


class DiagnosticFix(TypedDict):
    """A change that would fix the problem."""

    # The range to replace; empty for an insertion.
    range: SourceRange
    # The replacement.
    text: str


class DirectoryListing(TypedDict):
    """The entries of a folder; written by `Listing`."""

    # The path as requested.
    directory: str
    # The entries, in order of their names.
    files: list[ListedFile]
    # Whether there are more entries.
    truncated: bool


class DiskUse(TypedDict):
    """Disk use by kind."""

    # Bytes of all workspaces, when last measured.
    workspaces_bytes: int
    # Bytes of all snapshots, when last measured.
    snapshots_bytes: int
    # Allocated bytes of the logs of all executions, including ended one-shots.
    logs_bytes: int
    # The number of logs of ended executions.
    logs: int
    # All bytes together, which count towards the quota.
    total_bytes: int


class DoctorCheck(TypedDict):
    """The result of one check of the host."""

    # The name of the check.
    name: str
    # Whether code can be run safely as far as this check goes.
    ok: bool
    # `ok`, `warning` (there is a substitute for what is missing) or `failed`.
    status: str
    # What was found, and what is used instead if something is missing.
    detail: str
    # The command or setting that fixes it, if there is something to fix.
    fix: NotRequired[str | None]


class DoctorReport(TypedDict):
    """What the host can isolate and limit."""

    # Whether code can be run safely: no check failed.
    ok: bool
    # The checks, the most basic ones first.
    checks: list[DoctorCheck]


class Error(TypedDict):
    """The body of every answer with an error status."""

    # What went wrong, and what to do.
    error: ErrorDetail


class ErrorDetail(TypedDict):
    """An error: a code for programs, a message and a hint for people."""

    # The code, for programs. `docs/api.md` lists all codes; later versions may add some.
    code: str
    # What is wrong, for people.
    message: str
    # What to do about it, for people.
    hint: str
    # The id of the request, as in the header `X-Request-Id` and in the server's log.
    request_id: str


class StartedEvent(TypedDict):
    """The program is running. The first event."""

    # The number of the event.
    seq: int
    # Milliseconds since the start.
    at_ms: int
    # The execution that this log belongs to.
    execution_id: ExecutionId
    # The program's process id inside its session.
    pid: int
    type: Literal['started']


class StdoutEvent(TypedDict):
    """Bytes of standard output."""

    # The number of the last chunk in this event.
    seq: int
    # Milliseconds since the start.
    at_ms: int
    # The position of the first byte in the stream.
    offset: int
    # The bytes, if they are text.
    text: NotRequired[str | None]
    # The bytes in base64, if they are not text.
    base64: NotRequired[str | None]
    type: Literal['stdout']


class StderrEvent(TypedDict):
    """Bytes of standard error."""

    # The number of the last chunk in this event.
    seq: int
    # Milliseconds since the start.
    at_ms: int
    # The position of the first byte in the stream.
    offset: int
    # The bytes, if they are text.
    text: NotRequired[str | None]
    # The bytes in base64, if they are not text.
    base64: NotRequired[str | None]
    type: Literal['stderr']


class OutputEvent(TypedDict):
    """Bytes of a terminal, or of both streams in merged mode."""

    # The number of the last chunk in this event.
    seq: int
    # Milliseconds since the start.
    at_ms: int
    # The position of the first byte in the stream.
    offset: int
    # The bytes, if they are text.
    text: NotRequired[str | None]
    # The bytes in base64, if they are not text.
    base64: NotRequired[str | None]
    type: Literal['output']


class GapEvent(TypedDict):
    """Bytes that are no longer kept, or that were skipped because of `tail`."""

    # The number of the event.
    seq: int
    # Milliseconds since the start.
    at_ms: int
    # The stream that the bytes belong to.
    stream: OutputStream
    # The first missing byte.
    from_byte: int
    # The first byte after the gap.
    to_byte: int
    type: Literal['gap']


class ExitedEvent(TypedDict):
    """The program has exited. Sent exactly once, after every byte that was in the pipes when the program exited."""

    # The number of the event.
    seq: int
    # Milliseconds since the start.
    at_ms: int
    # The reason.
    reason: ExitReason
    # The exit code, unless a signal ended the program.
    code: NotRequired[int | None]
    # The signal that ended the program.
    signal: NotRequired[int | None]
    # Details for people: what was missing, or which limit was reached.
    message: NotRequired[str | None]
    detail: NotRequired[ExitDetail | None]
    # The time from start to exit.
    duration_ms: int
    # CPU time and peak memory.
    usage: Usage
    # Bytes written to standard output when the program exited, kept or not.
    stdout_bytes: int
    # Bytes written to standard error; 0 if the streams are merged.
    stderr_bytes: int
    # Bytes written to a terminal or to merged output; 0 if the streams are separate.
    output_bytes: int
    type: Literal['exited']


class ClosedEvent(TypedDict):
    """The last event: no writer is left."""

    # The number of the event.
    seq: int
    # Milliseconds since the start.
    at_ms: int
    type: Literal['closed']


class ExecuteRequest(TypedDict):
    """Code to run."""

    # The session's id or name.
    session_id: str
    # The language of the path, if repeated.
    language: NotRequired[str | None]
    # The source text.
    code: str
    # The path in the workspace at which the code is saved before it runs.
    file_path: NotRequired[str | None]
    # The program's arguments.
    args: NotRequired[list[str]]


class Execution(TypedDict):
    """One run of a program in a session."""

    # The id: `exe_` and 32 hexadecimal digits.
    id: ExecutionId
    # The session that it runs in.
    session_id: SessionId
    # The user that its session belongs to.
    owner: NotRequired[str]
    # The current state.
    state: ExecutionStateName
    # The program's process id inside its session, while it runs.
    pid: NotRequired[int | None]
    # When it was accepted.
    started_at: Timestamp
    exited_at: NotRequired[Timestamp | None]
    exit: NotRequired[Exit | None]
    # The time from start to exit.
    duration_ms: NotRequired[int | None]
    usage: NotRequired[Usage | None]
    # Bytes written to standard output so far, kept or not.
    stdout_bytes: int
    # Bytes written to standard error so far; 0 if the streams are merged.
    stderr_bytes: int
    # Bytes written to a terminal or to merged output so far; 0 if the streams are separate.
    output_bytes: int
    # The newest event of the log.
    last_seq: int
    log_removed: NotRequired[LogRemoved | None]
    # The command that runs.
    command: Command
    # The language, if the command is code.
    language: NotRequired[str | None]
    tty: NotRequired[TtySize | None]
    # Metadata that the client set.
    metadata: dict[str, str]


class ExecutionHistory(TypedDict):
    """The results of a message."""

    # The message, by the client's id.
    message_uuid: str
    # Its results, oldest first; empty if none was saved.
    execution_results: list[ExecutionResult]


class ExecutionOutputLine(TypedDict):
    """A line of output of an execution in a chat."""

    # The kind of line.
    type: ExecutionOutputType
    # The text.
    content: str
    # When it was printed.
    timestamp: LineTime
    # An id that no other line of the result has.
    id: str


class ExecutionPage(TypedDict):
    """A page of a list."""

    # The items of this page.
    items: list[Execution]
    # The cursor of the next page (`cursor=`); absent on the last page.
    next_cursor: NotRequired[str | None]


class ExecutionResult(TypedDict):
    """A result of an execution that a chat's client ran."""

    # The artifact that was run, by the client's id.
    artifact_uuid: str
    # The client's id of the execution.
    execution_id: str
    # When it was run.
    timestamp: Timestamp
    # The language.
    language: str
    # What it printed.
    output: list[ExecutionOutputLine]
    # How long it took, in milliseconds.
    execution_time_ms: float
    # How it ended.
    status: ExecutionResultStatus


class ExecutionStatus(TypedDict):
    """The status of an execution, with its output as text."""

    # Use it with the routes below `/v1/executions`.
    execution_id: str
    # The execution's status.
    status: ExecutionStatusName
    # The last 1 MiB of its standard output, or of its terminal.
    stdout: NotRequired[str | None]
    # The last 1 MiB of its standard error.
    stderr: NotRequired[str | None]
    # Whether `stdout` or `stderr` is incomplete; `output_url` has all output that is kept.
    truncated: bool
    # The number of bytes printed to standard output, or to the terminal.
    stdout_bytes: int
    # The number of bytes printed to standard error.
    stderr_bytes: int
    # The URL of all output that is kept, as raw bytes; `?stream=stdout` or `?stream=stderr` selects one stream.
    output_url: str
    # The exit code, or 128 plus the number of the signal that ended the program.
    exit_code: NotRequired[int | None]
    # The time from start to end.
    execution_time_ms: NotRequired[int | None]
    # Why it ended, unless the program exited by itself.
    message: NotRequired[str | None]


class Exit(TypedDict):
    """How an execution ended."""

    # Why it ended.
    reason: ExitReason
    # The exit code, unless a signal ended the program.
    code: NotRequired[int | None]
    # The signal that ended the program.
    signal: NotRequired[int | None]
    # Details for people: what was missing, or which limit was reached.
    message: NotRequired[str | None]
    detail: NotRequired[ExitDetail | None]


class CommandNotFoundExitDetail(TypedDict):
    """`setup_failed`: the command does not exist."""

    # The command as given; at most 4096 bytes of it.
    name: str
    kind: Literal['command_not_found']


class InterpreterNotFoundExitDetail(TypedDict):
    """`setup_failed`: the program names an interpreter that does not exist."""

    # The program; at most 4096 bytes of its name.
    name: str
    kind: Literal['interpreter_not_found']


class NotExecutableExitDetail(TypedDict):
    """`setup_failed`: the program exists, but it cannot be executed."""

    # The program; at most 4096 bytes of its name.
    name: str
    kind: Literal['not_executable']


class BadWorkingDirectoryExitDetail(TypedDict):
    """`setup_failed`: the working directory does not exist, is not a directory or may not be entered."""

    # Its path; at most 4096 bytes of it.
    path: str
    kind: Literal['bad_working_directory']


class ArgumentsTooLongExitDetail(TypedDict):
    """`setup_failed`: arguments and environment are longer than the kernel accepts."""

    kind: Literal['arguments_too_long']


class NoResourcesExitDetail(TypedDict):
    """`setup_failed`: the session or the host has no process, memory or file descriptor left."""

    kind: Literal['no_resources']


class TimedOutExitDetail(TypedDict):
    """`timed_out`: the wall-clock time ran out."""

    # The timeout of the execution, in milliseconds.
    after_ms: int
    kind: Literal['timed_out']


class LimitExitDetail(TypedDict):
    """A limit was reached. With the reason `exited` it ended a process of the execution, but not the program itself."""

    # The limit that was reached.
    which: LimitKind
    # Its value, in the unit of its name.
    limit: int
    kind: Literal['limit']


class SessionEndedExitDetail(TypedDict):
    """`cancelled`: the session was ended."""

    kind: Literal['session_ended']


class SessionHibernatedExitDetail(TypedDict):
    """`cancelled`: the session was hibernated."""

    kind: Literal['session_hibernated']


class OtherExitDetail(TypedDict):
    """A kind that this version does not know."""

    kind: Literal['other']


class File(TypedDict):
    """A file, a folder or a link in a workspace."""

    # The path below the workspace, without a leading slash; empty for the workspace itself.
    path: str
    # The last component of the path.
    name: str
    encoding: NotRequired[PathEncoding | None]
    # The type.
    type: FileType
    # The size of a file, or the length of a link's target; 0 for other types.
    size: int
    # The permissions in octal digits, such as `644`.
    mode: str
    # When the content was last modified.
    modified_at: Timestamp
    # A tag of this state of the file. It changes when the file changes.
    etag: str
    # The target of a link, if it is text.
    target: NotRequired[str | None]


# A change that a watch reports.
FileChange = TypedDict(
    "FileChange",
    {
        "type": "FileChangeType",
        "path": "str",
        "encoding": NotRequired["PathEncoding | None"],
        "kind": "FileType",
        "from": NotRequired["str | None"],
        "from_encoding": NotRequired["PathEncoding | None"],
    },
)


class FileDiff(TypedDict):
    """What differs between two states of a workspace."""

    # All differences, or the first of them.
    items: list[FileDifference]
    # Whether there are more.
    truncated: bool


class FileDifference(TypedDict):
    """An entry that differs between two states of a workspace."""

    # The type of the difference.
    type: FileDifferenceType
    # The path below the workspace.
    path: str
    encoding: NotRequired[PathEncoding | None]
    # The type of the file, now or before.
    kind: FileType
    # The size of the file, now or before.
    size: int
    # A unified diff, if it was requested and both texts are available and short enough.
    patch: NotRequired[str | None]
    # Whether `patch` is missing because the text, or all patches together, are too long.
    patch_too_long: NotRequired[bool]


class FilePage(TypedDict):
    """A page of a list."""

    # The items of this page.
    items: list[File]
    # The cursor of the next page (`cursor=`); absent on the last page.
    next_cursor: NotRequired[str | None]


class ForkRequest(TypedDict):
    """A request to fork a session."""

    # The name of the new session.
    name: NotRequired[str | None]
    snapshot: NotRequired[SnapshotId | None]


class InputQuestion(TypedDict):
    """A question."""

    # Unique in its request.
    id: str
    # A few words.
    header: str
    # The question.
    question: str
    # Answers to choose from; a person may always write their own.
    options: NotRequired[list[QuestionOption]]


class InputRequest(TypedDict):
    """Questions of an agent to a person."""

    # One to three questions.
    questions: list[InputQuestion]
    # The answers, once there are some.
    answers: NotRequired[list[Answer] | None]


class Language(TypedDict):
    """A language, installed on this host or not."""

    # The name, as used in a start request.
    name: str
    # Other names of the language.
    aliases: NotRequired[list[str]]
    # File name extensions without the dot; the first is the usual one.
    suffixes: NotRequired[list[str]]
    # The name of its icon.
    icon: NotRequired[str]
    # The version of its tool; absent until it is known, or if the tool is missing.
    version: NotRequired[str | None]
    # Whether it can be run on this host.
    available: bool
    # The Debian package that provides its tool, if known.
    package: NotRequired[str | None]
    # The path of the interpreter or compiler inside a session; absent if it is missing.
    interpreter: NotRequired[str | None]
    # Whether code is compiled before it runs.
    can_build: NotRequired[bool]
    # The longest time that its code may run here, if the operator has set one.
    max_runtime_ms: NotRequired[int | None]


class LanguageList(TypedDict):
    """The answer to `GET /v1/languages`."""

    # All languages in the registry, by name.
    languages: list[Language]


class Limits(TypedDict):
    """Upper bounds; each is optional."""

    # Resident memory, including page cache if the kernel counts it.
    memory_bytes: NotRequired[int | None]
    # Processors; `0.5` is half of one.
    cpus: NotRequired[float | None]
    # The number of processes and threads.
    pids: NotRequired[int | None]
    # Open files of each process.
    open_files: NotRequired[int | None]
    # The size of each file.
    file_bytes: NotRequired[int | None]
    # The size of the workspace.
    disk_bytes: NotRequired[int | None]
    # The number of files and folders in the workspace.
    inodes: NotRequired[int | None]
    # The output that is kept of each execution.
    output_bytes: NotRequired[int | None]
    # The wall-clock time of each execution.
    wall_ms: NotRequired[int | None]
    # The processor time of each process.
    cpu_ms: NotRequired[int | None]


class ListRequest(TypedDict):
    """A folder to list."""

    # The session's id or name.
    session_id: str
    # The path in the workspace: the workspace itself if absent.
    directory: NotRequired[str | None]
    encoding: NotRequired[PathEncoding | None]


class ListedFile(TypedDict):
    """An entry of a folder."""

    # The entry's name.
    name: str
    # The path for requests about this entry.
    path: str
    encoding: NotRequired[PathEncoding | None]
    # `file`, `directory`, `link` or `other`.
    type: str
    # The size in bytes.
    size: int
    # When it was last modified.
    modified: Timestamp


class MessageAddedLogEntry(TypedDict):
    """A message was added, and its branch is the current one. That of a person is complete; that of the agent grows by the events that follow."""

    # The message.
    message: Message
    type: Literal['message_added']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class BranchSelectedLogEntry(TypedDict):
    """Another branch became the current one: the one that ends with this message."""

    # The last message of the branch.
    message_id: MessageId
    type: Literal['branch_selected']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class TurnStartedLogEntry(TypedDict):
    """The agent began to work on the current branch."""

    # Unique in the conversation.
    turn_id: str
    # The model, by its name in the configuration; none for a turn without a model.
    model: NotRequired[str | None]
    type: Literal['turn_started']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class StepStartedLogEntry(TypedDict):
    """The model is called. `attempt` is above 1 if an earlier call for the same step failed."""

    # The message that the step adds to.
    message_id: MessageId
    # Which step of the turn, from 1.
    step: int
    # Which attempt, from 1.
    attempt: int
    type: Literal['step_started']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class StepDiscardedLogEntry(TypedDict):
    """The call of the model broke off. Everything that the step has added is void."""

    # The message of the step.
    message_id: MessageId
    # One sentence.
    reason: str
    type: Literal['step_discarded']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class TextStartedLogEntry(TypedDict):
    """A text begins."""

    # The message.
    message_id: MessageId
    # The part.
    part_id: str
    # Whether it is reasoning.
    reasoning: NotRequired[bool]
    type: Literal['text_started']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class TextDeltaLogEntry(TypedDict):
    """A text goes on."""

    # The message.
    message_id: MessageId
    # The part.
    part_id: str
    # More of it.
    text: str
    type: Literal['text_delta']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class TextEndedLogEntry(TypedDict):
    """A text is complete. From here on the log needs its deltas no more."""

    # The message.
    message_id: MessageId
    # The part.
    part_id: str
    # Whether it is reasoning.
    reasoning: NotRequired[bool]
    # The whole text.
    text: str
    # What the provider wants to get back.
    opaque: NotRequired[Any]
    type: Literal['text_ended']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class ToolCallStartedLogEntry(TypedDict):
    """The model begins to call a tool."""

    # The message.
    message_id: MessageId
    # The call.
    tool_call_id: str
    # The name of the tool.
    tool: str
    type: Literal['tool_call_started']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class ToolCallDeltaLogEntry(TypedDict):
    """The arguments go on."""

    # The call.
    tool_call_id: str
    # More of the arguments, as JSON text.
    text: str
    type: Literal['tool_call_delta']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class ToolCallReadyLogEntry(TypedDict):
    """The arguments are complete."""

    # The message.
    message_id: MessageId
    # The call.
    tool_call_id: str
    # The name of the tool.
    tool: str
    # The arguments; a text if they are not JSON.
    input: Any
    type: Literal['tool_call_ready']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class ToolCallRunningLogEntry(TypedDict):
    """The tool runs."""

    # The call.
    tool_call_id: str
    execution_id: NotRequired[ExecutionId | None]
    child_id: NotRequired[ConversationId | None]
    type: Literal['tool_call_running']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class ApprovalRequestedLogEntry(TypedDict):
    """A person is asked for consent."""

    # The call.
    tool_call_id: str
    # The question.
    approval: Approval
    type: Literal['approval_requested']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class ApprovalAnsweredLogEntry(TypedDict):
    """A person has decided."""

    # The call.
    tool_call_id: str
    # The question.
    approval_id: str
    # The decision.
    decision: ApprovalDecision
    # Why.
    reason: NotRequired[str | None]
    # Who decided.
    by: NotRequired[str | None]
    type: Literal['approval_answered']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class InputRequestedLogEntry(TypedDict):
    """The agent asks a person something."""

    # The call.
    tool_call_id: str
    # The questions.
    questions: list[InputQuestion]
    type: Literal['input_requested']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class InputAnsweredLogEntry(TypedDict):
    """A person has answered."""

    # The call.
    tool_call_id: str
    # The answers.
    answers: list[Answer]
    type: Literal['input_answered']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class ToolCallEndedLogEntry(TypedDict):
    """A tool call ended."""

    # The call.
    tool_call_id: str
    # How: an end of [`ToolCallState`](super::ToolCallState).
    state: ToolCallState
    # The result.
    output: ToolCallOutput
    # The executions that it started or shows.
    execution_ids: NotRequired[list[ExecutionId]]
    type: Literal['tool_call_ended']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class PlanUpdatedLogEntry(TypedDict):
    """The plan of the agent changed."""

    # All steps.
    plan: list[PlanStep]
    # Why.
    explanation: NotRequired[str | None]
    type: Literal['plan_updated']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class NoticedLogEntry(TypedDict):
    """Something that readers of a message should know."""

    # The message.
    message_id: MessageId
    # One sentence.
    text: str
    type: Literal['noticed']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class StepEndedLogEntry(TypedDict):
    """The model has finished a step."""

    # The message.
    message_id: MessageId
    usage: NotRequired[ModelUsage | None]
    type: Literal['step_ended']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class TurnEndedLogEntry(TypedDict):
    """The agent stopped working."""

    # The turn.
    turn_id: str
    # How.
    outcome: TurnOutcome
    # What went wrong, for a person.
    error: NotRequired[str | None]
    type: Literal['turn_ended']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class MessageQueuedLogEntry(TypedDict):
    """A message arrived during a turn."""

    # The id that it will have.
    message_id: MessageId
    # What it consists of.
    parts: list[Part]
    # Who sent it.
    author: NotRequired[str | None]
    # When the agent gets it.
    delivery: Delivery
    type: Literal['message_queued']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class MessageUnqueuedLogEntry(TypedDict):
    """A message that waited was withdrawn. One that reaches the agent is added instead."""

    # The message.
    message_id: MessageId
    type: Literal['message_unqueued']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class CompactedLogEntry(TypedDict):
    """The messages up to this one are given to the model as a summary from now on. They stay in the log."""

    # The last message of the current branch that the summary covers.
    message_id: MessageId
    # The summary.
    summary: str
    type: Literal['compacted']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class TitleChangedLogEntry(TypedDict):
    """The conversation got another title."""

    # The title.
    title: str
    # Where it is from.
    source: NotRequired[TitleSource]
    type: Literal['title_changed']
    # Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    seq: int
    # When it happened, in milliseconds since 1970.
    at_ms: int


class LogPage(TypedDict):
    """A page of the log of a conversation."""

    # The events, in order. Numbers of deltas that are needed no more are missing.
    items: list[LogEntry]
    # `after` of the next page; absent on the last one.
    next_after: NotRequired[int | None]


class LogRemoved(TypedDict):
    """When and why the log of an execution was removed."""

    # The time of removal.
    at: Timestamp
    # The rule that removed it: `age`, `number`, `size`, or `prune` for an explicit request.
    reason: str


class McpServer(TypedDict):
    """An MCP server of a conversation, without what may be secret."""

    # The program and its arguments.
    command: NotRequired[list[str]]
    # The names of the variables in its environment.
    env: NotRequired[list[str]]
    # The address of a server on the network, without its query.
    url: NotRequired[str | None]
    # The names of the headers.
    headers: NotRequired[list[str]]


class McpServerRequest(TypedDict):
    """An MCP server whose tools an agent gets: `command`, and perhaps `env`."""

    # A program and its arguments. It runs in the session of the conversation, and speaks the protocol on stdio.
    command: NotRequired[list[str]]
    # Its environment. No response and no export contains the values.
    env: NotRequired[dict[str, str]]
    # The address of a server on the network instead, which is called from the server's host. For operators.
    url: NotRequired[str | None]
    # The headers of each request to it. No response and no export contains the values.
    headers: NotRequired[dict[str, str]]


class Member(TypedDict):
    """A member."""

    # The user's name, or the owner of a token.
    user: str
    # The role of a member of a session.
    role: Literal['viewer', 'editor']
    added_at: Timestamp


class MemberList(TypedDict):
    """An owner and the members."""

    # The owner.
    owner: str
    # The members, in order of their names.
    items: list[Member]


class MemberRequest(TypedDict):
    """The role of a member."""

    # The role of a member of a session.
    role: Literal['viewer', 'editor']


class Message(TypedDict):
    """A message. Those with the same parent are branches of each other."""

    # Its id.
    id: MessageId
    parent_id: NotRequired[MessageId | None]
    # Who wrote it.
    role: MessageRole
    # The user that sent it, or the model that wrote it.
    author: NotRequired[str | None]
    # When it was added, in milliseconds since 1970.
    created_at_ms: NotRequired[int]
    # What it consists of, in order.
    parts: NotRequired[list[Part]]
    usage: NotRequired[ModelUsage | None]


class MessageAccepted(TypedDict):
    """A message that was accepted."""

    # Its id.
    message_id: MessageId
    # The turn that works on it, or that it waits for.
    turn_id: NotRequired[str | None]
    # Whether it waits for the agent.
    is_queued: bool


class MessageRef(TypedDict):
    """Names a message."""

    # The message.
    message_id: MessageId


class MessageRequest(TypedDict):
    """A message to the agent."""

    id: NotRequired[MessageId | None]
    # The text; may be empty if there are attachments. Default: `""`.
    text: NotRequired[str]
    # Files of the workspace.
    attachments: NotRequired[list[Attachment]]
    parent_id: NotRequired[MessageId | None]
    delivery: NotRequired[Delivery | None]
    # The model for the answer; that of the conversation if absent.
    model: NotRequired[str | None]


class Model(TypedDict):
    """A model of the configuration."""

    # Its name in the configuration.
    name: str
    # The API that it is called by: `openai-responses`, `openai-chat` or `anthropic`.
    api: str
    # Its name at the provider.
    model: str
    # Whether conversations without a model use it.
    is_default: bool
    # How many tokens of prompt and answer it can hold.
    context_tokens: int
    # Whether it can be reached: `unknown` unless it was checked.
    status: ModelStatus
    # Why it cannot be reached.
    detail: NotRequired[str | None]


class ModelList(TypedDict):
    """The models of the configuration."""

    # By name.
    items: list[Model]


class ModelUsage(TypedDict):
    """What calls of a model used."""

    # Tokens of the prompt.
    input_tokens: int
    # Tokens of the prompt that the provider had cached.
    cached_tokens: NotRequired[int]
    # Tokens that the model wrote.
    output_tokens: int
    # What the provider says it cost, in US dollars.
    cost_usd: NotRequired[float | None]


# A request with two paths.
MoveRequest = TypedDict(
    "MoveRequest",
    {
        "from": "str",
        "to": "str",
        "overwrite": NotRequired["bool"],
        "encoding": NotRequired["PathEncoding | None"],
    },
)


class NodeRequest(TypedDict):
    """Changes to a session's `node_modules`."""

    # Packages (`left-pad`, `left-pad@1.3.0`, `@scope/name@^2`) or paths in the workspace (`./tiny-1.0.0.tgz`).
    install: NotRequired[list[str]]
    # Names of packages to uninstall first.
    uninstall: NotRequired[list[str]]
    # Install the dependencies in `package.json` of the workspace.
    manifest: NotRequired[bool]
    # Use no registry: the packages must be available without one.
    offline: NotRequired[bool]
    # The conversation whose streams show the change.
    conversation_id: NotRequired[str | None]
    # The caller's id for the call, which is in all events of its execution. The execution's id if absent.
    tool_call_id: NotRequired[str | None]


class OwnerUsage(TypedDict):
    """The caller's quota and use."""

    # The user whose quota it is.
    owner: str
    # The owner's quota.
    quota: ResourceAmounts
    # The current use; CPU time and workspaces may be a few seconds old.
    used: ResourceAmounts
    # Disk use by kind.
    disk: DiskUse
    # The owner's queued starts, the next one first.
    waiting: list[QueuedStart]


class Package(TypedDict):
    """An installed package."""

    # The package's name, as the package manager writes it.
    name: str
    # The version that is installed.
    version: str


class PackageList(TypedDict):
    """The installed packages."""

    # The path of the environment inside the session.
    path: str
    # Whether the environment exists.
    exists: bool
    # The packages, in order of their names.
    packages: list[Package]
    # Whether there are more packages.
    truncated: bool


class TextPart(TypedDict):
    """Markdown text."""

    # Unique in its message; empty in messages of people.
    part_id: NotRequired[str]
    # The text so far.
    text: str
    # Whether more may follow.
    is_streaming: NotRequired[bool]
    # What the provider wants to get back with this part: a signature, or encrypted reasoning.
    opaque: NotRequired[Any]
    type: Literal['text']


class ReasoningPart(TypedDict):
    """What the model thought before it answered."""

    # Unique in its message; empty in messages of people.
    part_id: NotRequired[str]
    # The text so far.
    text: str
    # Whether more may follow.
    is_streaming: NotRequired[bool]
    # What the provider wants to get back with this part: a signature, or encrypted reasoning.
    opaque: NotRequired[Any]
    type: Literal['reasoning']


class ToolCallPart(TypedDict):
    """A call of a tool."""

    # Unique in its conversation.
    tool_call_id: str
    # The name of the tool.
    tool: str
    # Where it stands.
    state: ToolCallState
    # The arguments as the model has written them so far.
    input_text: NotRequired[str]
    # The arguments.
    input: NotRequired[Any]
    # The executions that it started or shows, whose output is read live.
    execution_ids: NotRequired[list[ExecutionId]]
    approval: NotRequired[Approval | None]
    input_request: NotRequired[InputRequest | None]
    child_id: NotRequired[ConversationId | None]
    output: NotRequired[ToolCallOutput | None]
    # When it began to run.
    started_at_ms: NotRequired[int | None]
    # When it ended.
    ended_at_ms: NotRequired[int | None]
    type: Literal['tool_call']


class AttachmentPart(TypedDict):
    """A file of the workspace that a person added."""

    # The name that the person gave it.
    name: str
    # Its path in the workspace.
    path: str
    # For example `image/png`.
    media_type: str
    # Its length.
    size_bytes: int
    type: Literal['attachment']


class StepPart(TypedDict):
    """The beginning of a step: one call of the model."""

    # Which one, from 1.
    number: int
    type: Literal['step']


class NoticePart(TypedDict):
    """Something that the server did and readers should know, for example that a call of the model was repeated."""

    # One sentence.
    text: str
    type: Literal['notice']


class PathRequest(TypedDict):
    """A request with one path."""

    # A path in the workspace.
    path: str
    encoding: NotRequired[PathEncoding | None]


class PlanStep(TypedDict):
    """A step of a plan."""

    # What is to be done.
    step: str
    # Where it stands.
    status: PlanStepStatus


class Port(TypedDict):
    """A TCP port."""

    # Its number, in the session.
    port: int


class PortList(TypedDict):
    """The ports of a session."""

    # Ascending.
    items: list[Port]


class Preview(TypedDict):
    """A preview of a port."""

    # The port that it shows.
    port: int
    # The address of the preview. Whoever has it can use the port until it expires: it needs no credential.
    url: str
    expires_at: Timestamp


class PreviewRequest(TypedDict):
    """A request for a preview."""

    # The port, which a program need not listen on yet.
    port: int


class Process(TypedDict):
    """A process of an execution."""

    # The process id, as seen inside the session.
    pid: int
    # The parent's process id, as seen inside the session.
    ppid: int
    # The name known to the kernel: at most 15 bytes, chosen by the program.
    name: str


class ProcessList(TypedDict):
    """The processes of an execution."""

    # All current processes, including background children.
    processes: list[Process]


class ProgressUpdate(TypedDict):
    """An update of a call."""

    # The call's id, repeated.
    toolCallId: str
    # The type of the content.
    type: ProgressType
    # The text that follows the earlier text; or, for a status, the state of the call: `running`, at the end `exited 0`, `timed out after 5 s`, `cancelled`; and in between reports about output that is not shown.
    content: str
    # When it happened, in milliseconds since 1970-01-01T00:00:00Z.
    timestamp: int
    # The execution, for its routes.
    executionId: NotRequired[str | None]


class PruneRequest(TypedDict):
    """Which logs of ended executions to remove. Without `older_than`, `keep` and `all` the rules of the configuration apply."""

    # Only logs of this owner; for the operator.
    owner: NotRequired[str | None]
    # Only logs of this session.
    session_id: NotRequired[str | None]
    # Logs of executions that ended at least this long ago: `7d`, `12h`.
    older_than: NotRequired[str | None]
    # All logs except this many of the newest.
    keep: NotRequired[int | None]
    # All logs of ended executions.
    all: NotRequired[bool]
    # Report what would be removed, and remove nothing.
    dry_run: NotRequired[bool]


class PrunedLogs(TypedDict):
    """The logs that were removed, or would be."""

    # Whether this was a dry run, which removes nothing.
    dry_run: bool
    # The number of logs.
    logs: int
    # Their size on disk.
    bytes: int
    # The first 1,000 of their executions, oldest first.
    executions: list[str]


class PythonEnvironment(TypedDict):
    """A session's virtual environment."""

    # The path inside the session.
    path: str
    # Whether it exists. If so, Python code of the session runs in it.
    exists: bool
    # The version of Python in it.
    version: NotRequired[str | None]
    # The execution that creates it, if it was started by this request.
    execution_id: NotRequired[str | None]


class PythonRequest(TypedDict):
    """Changes to a session's virtual environment."""

    # Packages (`requests`, `requests==2.32.3`, `a[b]>=1,<2`) or paths in the workspace (`./tiny-1.0-py3-none-any.whl`).
    install: NotRequired[list[str]]
    # Names of packages to uninstall first.
    uninstall: NotRequired[list[str]]
    # A requirements file in the workspace.
    requirements: NotRequired[str | None]
    # Use no registry: the packages must be available without one.
    offline: NotRequired[bool]
    # The conversation whose streams show the change.
    conversation_id: NotRequired[str | None]
    # The caller's id for the call, which is in all events of its execution. The execution's id if absent.
    tool_call_id: NotRequired[str | None]


class QuestionOption(TypedDict):
    """An answer to choose."""

    # The answer.
    label: str
    # What it means.
    description: NotRequired[str]


class QueuedMessage(TypedDict):
    """A message that waits for the agent."""

    # The id that it will have.
    message_id: MessageId
    # What it consists of.
    parts: list[Part]
    # Who sent it.
    author: NotRequired[str | None]
    # When the agent gets it.
    delivery: Delivery


class QueuedStart(TypedDict):
    """A queued start."""

    # The position in the queue of all owners; 1 is the next.
    place: int
    # The session it is for; `one-shot` for a dedicated one.
    session_id: str
    # How long it has been waiting.
    waiting_ms: int


class ReadRequest(TypedDict):
    """A file to read."""

    # The session's id or name.
    session_id: str
    # The path in the workspace: `/src/main.py` and `/workspace/src/main.py` are the same file.
    path: str
    encoding: NotRequired[PathEncoding | None]


class RecordedToolCall(TypedDict):
    """A call of a tool."""

    # The name of the tool.
    tool: str
    # The arguments, with long texts cut and secrets masked; `null` if they are too long even then.
    arguments: NotRequired[dict[str, Any] | None]
    # The text for the model, cut to 16 KiB, with secrets masked; `null` if the caller disconnected before it.
    result: NotRequired[str | None]
    # Whether the tool failed.
    is_error: bool
    # The user that called.
    caller: str
    # The name of the agent.
    agent: str
    # The conversation, if the call belongs to one.
    conversation_id: NotRequired[str | None]
    # The caller's id of the call.
    tool_call_id: NotRequired[str | None]
    # The executions that the result is about.
    execution_ids: list[ExecutionId]
    # When it was called.
    called_at: Timestamp
    # How long it took.
    duration_ms: int


class RecordedToolCallPage(TypedDict):
    """A page of a list."""

    # The items of this page.
    items: list[RecordedToolCall]
    # The cursor of the next page (`cursor=`); absent on the last page.
    next_cursor: NotRequired[str | None]


class RefreshRequest(TypedDict):
    """A request for the next access token."""

    # From the sign-in, or from the last call of this route.
    refresh_token: str


class ResizeRequest(TypedDict):
    """The body of `POST /v1/executions/{id}/resize`."""

    # The number of rows.
    rows: int
    # The number of columns.
    cols: int


class ResourceAmounts(TypedDict):
    """Amounts of limited resources. In `quota`, absent means unlimited."""

    # Sessions that have not ended.
    sessions: NotRequired[int | None]
    # Concurrent executions.
    executions: NotRequired[int | None]
    # CPU time of today (UTC).
    cpu_ms: NotRequired[int | None]
    # Bytes on the disk: workspaces, snapshots and logs together.
    disk_bytes: NotRequired[int | None]


class RuleList(TypedDict):
    """The rules of a session."""

    # Oldest first.
    items: list[SessionRule]


class RunCommandRequest(TypedDict):
    """A call of `run_command`."""

    # A shell command (bash).
    command: str
    # The working directory, relative to the workspace, which is the default. `cwd` is another name for it.
    workingDirectory: NotRequired[str | None]
    # The timeout in seconds: 60 if absent, at most 86400. After it the program gets SIGTERM, and SIGKILL 5 s later.
    timeout: NotRequired[float | None]
    # The caller's id for this call, which is in all its events. The execution's id if absent.
    toolCallId: NotRequired[str | None]
    # The conversation whose streams show the call. `conversation_id` is another name for it.
    conversationId: NotRequired[str | None]
    # The session that it runs in: its id, its name or a unique prefix of its id. A dedicated session, which ends with the command, if absent. `session_id` is another name for it.
    sessionId: NotRequired[str | None]
    # Commands with the same id share a session, as in `code_execution`. `interactive_id` is another name for it.
    interactiveId: NotRequired[str | None]
    # How many bytes of each stream the events and the result show. After that a note replaces the rest; the command continues, and `output_url` returns the whole output. If absent, the events show everything and the result up to 16 MiB.
    maxBuffer: NotRequired[int | None]


class RunningUsage(TypedDict):
    """What one running session uses."""

    # The session.
    session_id: str
    # CPU time of all programs since the session was created or resumed.
    cpu_ms: int
    # Memory; 0 where the host does not count it.
    memory_bytes: int
    # The number of processes.
    processes: int
    # Bytes of the workspace and its snapshots, when last measured.
    disk_bytes: int
    # Of these, bytes of the snapshots.
    snapshot_bytes: int
    # Allocated bytes of the logs of its executions.
    log_bytes: int


class RunningUsageList(TypedDict):
    """What running sessions use."""

    # The sessions that are running.
    items: list[RunningUsage]


class SaveExecutionRequest(TypedDict):
    """A result to save with a message."""

    # The message that it belongs to, by the client's id.
    message_uuid: str
    # The artifact that was run, by the client's id.
    artifact_uuid: str
    # The client's id of the execution. A result with the same ids replaces the earlier one.
    execution_id: str
    # When it was run.
    timestamp: Timestamp
    # The language.
    language: str
    # What it printed.
    output: NotRequired[list[ExecutionOutputLine]]
    # How long it took, in milliseconds.
    execution_time_ms: float
    # How it ended.
    status: ExecutionResultStatus


class SearchMatch(TypedDict):
    """A match of a search."""

    # The path below the workspace.
    path: str
    encoding: NotRequired[PathEncoding | None]
    # The type of the file.
    kind: FileType
    # The line number, from 1, for a match in the content.
    line: NotRequired[int | None]
    # The column, from 1, in bytes.
    column: NotRequired[int | None]
    # The line, or 400 bytes of it.
    text: NotRequired[str | None]
    # The position in the line where `text` begins, if not at its beginning.
    text_offset: NotRequired[int | None]
    # Whether `text` is only a part of the line.
    text_truncated: NotRequired[bool]


class SearchResult(TypedDict):
    """All results of a search."""

    # The matches.
    items: list[SearchMatch]
    # How the search ended, and what it covered.
    summary: SearchSummary


class SearchSummary(TypedDict):
    """The summary of a search."""

    # The number of matches.
    matches: int
    # The number of files whose content was searched.
    files: int
    # The number of files that were skipped: binary, not readable, or with a line that is too long.
    skipped: int
    # Why the search ended early: `limit`, `time` or `entries`.
    stopped: NotRequired[str | None]


class ServerInfo(TypedDict):
    """The answer to `GET /v1/info`."""

    # The version of the gateway.
    version: str
    # The version of the worker.
    worker_version: str
    # When the gateway started.
    started_at: Timestamp
    # The isolation of new sessions.
    sandbox: SandboxKind
    # The number of sessions that are ready.
    sessions: int
    # The number of executions that have not ended.
    running: int
    # The number of prepared sessions in the pool.
    prepared: int
    # How each limit is enforced on this host, for people.
    enforcement: dict[str, str]


class Session(TypedDict):
    """A workspace with its own sandbox, in which executions run."""

    # The id: `ses_` and 32 hexadecimal digits.
    id: SessionId
    # The user that it belongs to.
    owner: NotRequired[str]
    # A name for people.
    name: NotRequired[str | None]
    # The current state.
    state: SessionStateName
    # The isolation of the session.
    sandbox: SandboxKind
    # Environment variables for every execution in the session. The values of secret variables are empty. Users with read-only access get all names with empty values. Absent in lists, because it can be large.
    env: NotRequired[dict[str, str] | None]
    # Whether the values of `env` are hidden from this user.
    env_hidden: NotRequired[bool]
    # The names of the variables in `env` whose values are secret.
    secret_env: NotRequired[list[str]]
    # Limits of the session.
    limits: Limits
    # The session ends after this long without an execution.
    idle_timeout_ms: NotRequired[int | None]
    # Metadata that the client set.
    metadata: dict[str, str]
    # Network access.
    network: Network
    # Whether it was created for one execution and ends with it.
    one_shot: bool
    # When it was created.
    created_at: Timestamp
    ended_at: NotRequired[Timestamp | None]
    last_activity_at: NotRequired[Timestamp | None]
    # The number of executions in it that have not ended.
    running: int


class SessionPage(TypedDict):
    """A page of a list."""

    # The items of this page.
    items: list[Session]
    # The cursor of the next page (`cursor=`); absent on the last page.
    next_cursor: NotRequired[str | None]


class SessionPatch(TypedDict):
    """A change of a session; absent fields stay as they are."""

    # The new name.
    name: NotRequired[str | None]
    limits: NotRequired[Limits | None]
    # The new idle timeout; 0 removes it.
    idle_timeout_ms: NotRequired[int | None]
    # Merged with the existing metadata; an empty value removes a key.
    metadata: NotRequired[dict[str, str]]


class SessionRequest(TypedDict):
    """A request for a session."""

    # A name for people; it need not be unique.
    name: NotRequired[str | None]
    # Environment variables for every execution in the session.
    env: NotRequired[dict[str, str]]
    # The names of the variables in `env` whose values are secret: no response contains them, and they are masked in the results of tools. A secret value has at least 4 bytes.
    secret_env: NotRequired[list[str]]
    # The template that it starts from (`GET /v1/templates`): its files are written into the workspace, and its limits apply where `limits` has none.
    template: NotRequired[str | None]
    # Limits of the session.
    limits: NotRequired[Limits]
    # The session ends after this long without an execution.
    idle_timeout_ms: NotRequired[int | None]
    # Metadata for the client's own use.
    metadata: NotRequired[dict[str, str]]
    # Network access; none by default. Default: `"none"`.
    network: NotRequired[Network]


class SessionRule(TypedDict):
    """A rule by which commands run without a question."""

    # Its number in this server.
    number: int
    # The user for whose agents it holds.
    user: str
    # The first words of the commands, each compared as a whole.
    prefix: list[str]
    # Only in this working directory.
    workdir: NotRequired[str | None]
    # What such a command may get besides the rights of its session.
    grants: dict[str, Any]
    # When a person added it.
    created_at: Timestamp


class SessionUsage(TypedDict):
    """What a session uses now, and its limits."""

    # `ready` or `hibernated`. Nothing runs in a hibernated session: all that it uses is `disk_bytes`, and the others are 0.
    state: SessionStateName
    # The current use.
    used: SessionUse
    # The limits that the usage counts towards.
    limits: UsageLimits


class SessionUse(TypedDict):
    """The current use of a session. `null` means that the host does not count it."""

    # Memory, including page cache if the kernel counts it.
    memory_bytes: NotRequired[int | None]
    # The CPU time of all programs since the session was created or resumed.
    cpu_ms: NotRequired[int | None]
    # Processes and threads, including the session's init.
    pids: NotRequired[int | None]
    # The size of the workspace and the snapshots. It is measured at most once a second, less often if that takes long.
    disk_bytes: NotRequired[int | None]


class Setting(TypedDict):
    """A setting."""

    # Its path in the configuration file, such as `server.listen`.
    key: str
    # The value that is in force. Secrets are not shown.
    value: Any
    # The value without any configuration.
    default: Any
    # Where the value comes from: `default`, the file, a variable or a flag.
    source: str
    # The value of the running worker, if that was started with another one.
    running: NotRequired[Any]


class Settings(TypedDict):
    """All settings."""

    # By their paths.
    items: list[Setting]


class Share(TypedDict):
    """A link to a session."""

    # `shr_` and 32 hexadecimal digits.
    id: str
    # The session that the link opens.
    session_id: str
    # The access that a link gives.
    access: Literal['read', 'write']
    # The user who created the link.
    made_by: str
    created_at: Timestamp
    expires_at: Timestamp
    revoked_at: NotRequired[Timestamp | None]
    # The secret that opens the session, for `Authorization: Bearer` or `?token=`; returned only when the link is created.
    token: NotRequired[str | None]


class ShareList(TypedDict):
    """All links of a session."""

    # Oldest first.
    items: list[Share]


class ShareRequest(TypedDict):
    """A request for a link."""

    # The access that a link gives.
    access: Literal['read', 'write']
    # The lifetime of the link: 7 days if absent, at most 365.
    expires_in_ms: NotRequired[int | None]


class SignInRequest(TypedDict):
    """A request to sign in."""

    # The user's name; case does not matter.
    name: str
    # The user's password.
    password: str
    # For a browser: set a cookie instead of returning tokens.
    cookie: NotRequired[bool]


class SignOutRequest(TypedDict):
    """Options for signing out."""

    # End all sign-ins of the user, not only this one.
    everywhere: NotRequired[bool]


class SignalRequest(TypedDict):
    """The body of `POST /v1/executions/{id}/signal`."""

    # The signal to send.
    signal: SignalName
    # Whether to signal every process of the execution instead of its (foreground) group.
    tree: NotRequired[bool]


class SignedIn(TypedDict):
    """The tokens of a sign-in."""

    # A JWT, for `Authorization: Bearer`.
    access_token: NotRequired[str | None]
    # Always `Bearer`.
    token_type: NotRequired[str | None]
    # The lifetime of the access token.
    expires_in_ms: NotRequired[int | None]
    # Valid for one use, for `POST /v1/login/refresh`.
    refresh_token: NotRequired[str | None]
    user: User


class Snapshot(TypedDict):
    """A snapshot of a workspace."""

    # The id: `snp_` and 32 hexadecimal digits.
    id: SnapshotId
    # A name for people.
    name: NotRequired[str | None]
    # When it was created.
    created_at: Timestamp
    # Its size on disk, as if it shared nothing with the workspace.
    bytes: int
    # The number of files, folders and links in it.
    files: int


class SnapshotList(TypedDict):
    """The snapshots of a session, oldest first."""

    # The oldest first.
    items: list[Snapshot]


class SnapshotRequest(TypedDict):
    """A request for a snapshot."""

    # A name for people; it need not be unique.
    name: NotRequired[str | None]


class SourceRange(TypedDict):
    """A range in a file. Lines and columns (in bytes) count from 1, and the end is exclusive."""

    # The path in the workspace, or of a system header.
    file: NotRequired[str | None]
    # The first line. Default: `0`.
    line: NotRequired[int]
    # The first column. Default: `0`.
    column: NotRequired[int]
    # The last line. Default: `0`.
    end_line: NotRequired[int]
    # The column after the last. Default: `0`.
    end_column: NotRequired[int]


class StartRequest(TypedDict):
    """A request to start an execution: one of `argv`, `shell`, or `language` with `code`."""

    # A program and its arguments.
    argv: NotRequired[list[str] | None]
    # A shell command line.
    shell: NotRequired[str | None]
    # A language from `GET /v1/languages`.
    language: NotRequired[str | None]
    # Source code in that language.
    code: NotRequired[str | None]
    # A path in the workspace where the code is saved before it runs, and kept.
    file: NotRequired[str | None]
    # Arguments for the code.
    args: NotRequired[list[str]]
    # The working directory, relative to the workspace, which is the default.
    cwd: NotRequired[str | None]
    # Environment variables in addition to the session's.
    env: NotRequired[dict[str, str]]
    # Standard input. Default: `"none"`.
    stdin: NotRequired[StdinRequest]
    tty: NotRequired[TtySize | None]
    # Merge stdout and stderr into one stream, in exact order. Default: `false`.
    merge_output: NotRequired[bool]
    # The longest time that it may run.
    timeout_ms: NotRequired[int | None]
    # The time between SIGTERM and SIGKILL; 5 s by default.
    grace_ms: NotRequired[int | None]
    # Limits, lower than the session's.
    limits: NotRequired[Limits]
    # What happens to child processes that outlive the program. Default: `"keep"`.
    children: NotRequired[Children]
    # What happens when the output limit is reached. Default: `"trim"`.
    on_output_limit: NotRequired[OnOutputLimit]
    # Metadata for the client's own use. `conversation_id` and `tool_call_id` add the execution to the streams of that conversation.
    metadata: NotRequired[dict[str, str]]


class StartedExecution(TypedDict):
    """The started execution."""

    # Use it with the routes below `/v1/executions`.
    execution_id: str
    # The execution's status.
    status: ExecutionStatusName
    # The process id inside the session, while it is running.
    pid: NotRequired[int | None]


class Stop(TypedDict):
    """What became of a request to stop."""

    # Whether a turn ran.
    was_running: bool


class StopUiStreamRequest(TypedDict):
    """Which response is to be stopped."""

    # Only this one: `streamId` of the message's metadata. So a late stop does not meet the next response.
    streamId: NotRequired[str | None]


class Template(TypedDict):
    """What a session can start from."""

    # The name, as used in a request for a session.
    name: str
    # A title for people.
    title: str
    # What it is for.
    description: str
    # The language that it needs.
    language: NotRequired[str | None]
    # Whether that language is installed; true if it needs none.
    available: bool
    # The file to open first.
    open: NotRequired[str | None]
    # The limits of a session, unless the request has others.
    limits: Limits


class TemplateList(TypedDict):
    """The templates."""

    # All templates, by name.
    items: list[Template]


class Terminal(TypedDict):
    """A terminal of a session."""

    # The name in its session.
    name: str
    # The execution that runs the terminal's shell.
    execution_id: str
    # The number of rows.
    rows: int
    # The number of columns.
    cols: int
    # The title that the program set; untrusted text.
    title: NotRequired[str | None]
    # Whether its shell is running.
    running: bool
    # When it was created.
    created_at: Timestamp


class TerminalList(TypedDict):
    """The terminals of a session."""

    # The newest terminal of each name.
    terminals: list[Terminal]


class TerminalRequest(TypedDict):
    """A request for a terminal."""

    # The name: `main` if absent.
    name: NotRequired[str | None]
    # The number of rows: 24 if absent.
    rows: NotRequired[int | None]
    # The number of columns: 80 if absent.
    cols: NotRequired[int | None]
    # A shell command to run instead of a login shell.
    command: NotRequired[str | None]


class TerminalScreen(TypedDict):
    """The screen of a terminal."""

    # The execution that runs the terminal's shell.
    execution_id: str
    # The `seq` of the last event that is included.
    seq: int
    # The number of rows.
    rows: int
    # The number of columns.
    cols: int
    # The title that the program set; untrusted text.
    title: str
    # Output that draws the screen on an empty terminal of that size, if it is valid UTF-8.
    text: NotRequired[str | None]
    # The same as base64, if it is not valid UTF-8.
    base64: NotRequired[str | None]


class TextFile(TypedDict):
    """A file's content; written by `FileResponse`."""

    # The path as requested.
    path: str
    # The content as text. Invalid UTF-8 is replaced by U+FFFD.
    content: str
    # The exact bytes, if they are not valid UTF-8.
    base64: NotRequired[str | None]
    # The file's size in bytes.
    size: int
    # When it was last modified.
    modified: Timestamp
    # Identifies this version of the file.
    etag: str


class Ticket(TypedDict):
    """A ticket, for `?token=`."""

    # Opens one stream, and resumes it.
    ticket: str
    # How long it may wait for its first use.
    expires_in_ms: int


class Token(TypedDict):
    """A token, without its secret."""

    # `tok_` and 32 hexadecimal digits.
    id: str
    # A name for people; it need not be unique.
    name: str
    # The owner of everything that is created with the token.
    owner: str
    # The role of a user or token.
    role: Literal['admin', 'member', 'reader']
    # The sessions that the token may use; all if absent.
    sessions: NotRequired[list[str] | None]
    # The actions that the token may perform; all that its role allows if absent.
    scopes: NotRequired[list[str] | None]
    created_at: Timestamp
    expires_at: NotRequired[Timestamp | None]
    revoked_at: NotRequired[Timestamp | None]
    last_used_at: NotRequired[Timestamp | None]
    # The token that the client sends. It is returned once, when the token is created.
    token: NotRequired[str | None]


class TokenPage(TypedDict):
    """A page of a list."""

    # The items of this page.
    items: list[Token]
    # The cursor of the next page (`cursor=`); absent on the last page.
    next_cursor: NotRequired[str | None]


class TokenRequest(TypedDict):
    """A request for a token."""

    # A label for people.
    name: NotRequired[str]
    # The role, at most your own; if absent, `member`, or your own if that is less.
    role: NotRequired[Literal['admin', 'member', 'reader'] | None]
    # The sessions to restrict the token to, each by its id, its name or a unique prefix of its id; all if absent. The token keeps to these sessions if another one gets the name.
    sessions: NotRequired[list[str] | None]
    # The scopes to restrict the token to, such as `executions:read` or `files:write`; everything that its role allows if absent. Areas are `sessions`, `executions`, `files`, `terminals`, `builds`, `tokens` and, for tokens of the role `admin`, `metrics`.
    scopes: NotRequired[list[str] | None]
    # The lifetime; if absent, unlimited, or that of your own token.
    expires_in_ms: NotRequired[int | None]
    # The owner of the token; only operators may name others.
    owner: NotRequired[str | None]


class ToolCallOutput(TypedDict):
    """The result of a tool call."""

    # The text that the model gets. The whole output is in the log of the execution.
    text: str
    # Whether the tool failed.
    is_error: NotRequired[bool]
    # The same result for programs, by the schema of the tool.
    structured: NotRequired[Any]
    image: NotRequired[Attachment | None]


class ToolCallProgress(TypedDict):
    """The newest output of a program that a tool waits for."""

    # The bytes that the programs of the call have printed so far.
    bytes: int
    # The last complete lines, without control sequences, with secrets masked.
    lines: str
    execution_id: NotRequired[ExecutionId | None]


class ToolCallStartEvent(TypedDict):
    """An event for a tool card."""

    # `TOOL_CALL_START`, `CODE_EXECUTION_OUTPUT` or `TOOL_RESULT`.
    type: str
    # The conversation, if the call belongs to one.
    thread_id: NotRequired[str | None]
    # When it happened.
    timestamp: Timestamp
    # A call was started.
    payload: dict[str, Any]


class ToolImage(TypedDict):
    """An image, for a model."""

    # For example `image/png`.
    media_type: str
    # The file, in base64.
    data: str


class ToolList(TypedDict):
    """All tools."""

    # The tools in the requested shape, ready for the field `tools` of a request to a model.
    tools: list[dict[str, Any]]


class ToolOutcome(TypedDict):
    """The result of a tool, for a model."""

    # The text for the model.
    content: str
    # Whether the tool failed. A program that exits with an error is not a failure of the tool.
    is_error: bool
    # The same result for programs. Its `output` is the whole `content`.
    structured: NotRequired[dict[str, Any] | None]
    image: NotRequired[ToolImage | None]
    # The executions that the result is about.
    execution_ids: list[ExecutionId]
    # The session that the tool worked in.
    session_id: SessionId
    # How long the call took.
    duration_ms: int


class ToolOutput(TypedDict):
    """The output and exit code of a tool call."""

    # The exit code of the program; 128 plus the signal's number if a signal ended it; -99 after a timeout; -100 if the command or runtime does not exist; -101 if the program could not be started for another reason, or its end is unknown.
    exit_code: int
    # A description of the error, if the exit code does not say enough.
    error: NotRequired[str | None]
    # The standard output (or the output of the terminal) as text. After `maxBuffer`, or 16 MiB, a note replaces the rest.
    stdout: str
    # The standard error, with the same limit. After a timeout, and for the exit codes -100 and -101, it ends with a line that says why.
    stderr: str
    # Whether a part of the output is missing here.
    truncated: bool
    # The URL of the whole output, as far as it is kept.
    output_url: NotRequired[str | None]


class ToolProgress(TypedDict):
    """An event of the stream."""

    # Always `tool-progress`.
    type: str
    # The call's id, or the execution's id.
    toolCallId: str
    # The update.
    progress: ProgressUpdate


class ToolResult(TypedDict):
    """The result of a tool call."""

    # Always `TOOL_RESULT`.
    type: str
    # The id of the call.
    tool_call_id: str
    # The tool: `code_execution`, `run_command`, `runCommand`, `build` or `change_packages`.
    tool_name: str
    # Whether the program exited with 0.
    success: bool
    # The conversation, if the call belongs to one.
    thread_id: NotRequired[str | None]
    # When the call ended.
    timestamp: Timestamp
    # The id of the execution; absent if none was created.
    execution_id: NotRequired[str | None]
    # The output and exit code.
    result: ToolOutput


class ToolResultEvent(TypedDict):
    """An event for a tool card."""

    # `TOOL_CALL_START`, `CODE_EXECUTION_OUTPUT` or `TOOL_RESULT`.
    type: str
    # The conversation, if the call belongs to one.
    thread_id: NotRequired[str | None]
    # When it happened.
    timestamp: Timestamp
    payload: ToolResult


class TtySize(TypedDict):
    """The size of a terminal in characters."""

    # The number of rows.
    rows: int
    # The number of columns.
    cols: int


class Turn(TypedDict):
    """A turn: the agent's work between two messages of a person."""

    # Unique in the conversation.
    turn_id: str
    # The model, by its name in the configuration.
    model: NotRequired[str | None]
    # The event with which it began.
    first_seq: int
    # When it began.
    started_at_ms: int
    outcome: NotRequired[TurnOutcome | None]
    # What went wrong.
    error: NotRequired[str | None]


class TurnAccepted(TypedDict):
    """A turn that has begun."""

    # The turn.
    turn_id: str


class UiChatRequest(TypedDict):
    """A request of an AI SDK front end, with all messages that it has."""

    # The conversation. One that does not exist is created.
    id: ConversationId
    # Only the last one is used, and only if a person wrote it: the server has its own history.
    messages: NotRequired[list[UiMessage]]
    # What is to be done.
    trigger: NotRequired[UiTrigger]
    # The message that is edited, answered again or continued.
    messageId: NotRequired[str | None]
    # The model for the answer, by its name in the configuration; that of the conversation if absent.
    model: NotRequired[str | None]
    # The session of a conversation that this request creates: its id or its name.
    session_id: NotRequired[str | None]
    # How much of the output of running calls is sent.
    progress: NotRequired[UiProgressMode]


class UiMessage(TypedDict):
    """A message, as a client has it."""

    # Its id. Default: `""`.
    id: NotRequired[str]
    # `user` or `assistant`. Default: `""`.
    role: NotRequired[str]
    # What it consists of.
    parts: NotRequired[list[dict[str, Any]]]
    # What the server added to it.
    metadata: NotRequired[dict[str, Any] | None]


class UiMessageEvent(TypedDict):
    """An event of a UI message stream."""

    # A chunk of the AI SDK 7 as JSON; at the end `[DONE]`.
    data: str


class UnpackedArchive(TypedDict):
    """The contents of an unpacked archive."""

    # The number of files.
    files: int
    # The number of folders.
    folders: int
    # The number of symbolic links.
    links: int
    # The total size of the files.
    bytes: int


class Usage(TypedDict):
    """Resources that a program used."""

    # User and system time of the program and the children that it waited for.
    cpu_ms: int
    # The peak resident size of any one of them.
    max_rss_bytes: int


class UsageLimits(TypedDict):
    """The limits of what a session uses. `null` means unlimited."""

    # The limit of `used.memory_bytes`.
    memory_bytes: NotRequired[int | None]
    # The limit of `used.pids`.
    pids: NotRequired[int | None]
    # The limit of `used.disk_bytes`.
    disk_bytes: NotRequired[int | None]


class User(TypedDict):
    """A user as the API returns it, without the password."""

    # `usr_` and 32 hexadecimal digits.
    id: str
    # The name in lower case. It is the owner of everything that belongs to the user.
    name: str
    # The role of a user or token.
    role: Literal['admin', 'member', 'reader']
    # Whether the user and all of its tokens are refused.
    disabled: bool
    # Whether the user can sign in with a password.
    has_password: bool
    created_at: Timestamp


class UserPage(TypedDict):
    """A page of a list."""

    # The items of this page.
    items: list[User]
    # The cursor of the next page (`cursor=`); absent on the last page.
    next_cursor: NotRequired[str | None]


class UserPatch(TypedDict):
    """Changes to a user. Absent fields keep their value."""

    # The new password. Ends all sign-ins of the user.
    password: NotRequired[str | None]
    # The current password, required to change one's own.
    current_password: NotRequired[str | None]
    # The new role; only for operators.
    role: NotRequired[Literal['admin', 'member', 'reader'] | None]
    # Whether the user is disabled; only for operators. Disabling ends all sign-ins and refuses all tokens of the user.
    disabled: NotRequired[bool | None]


class UserRequest(TypedDict):
    """A request for a user."""

    # Letters, digits and `._@+-`; case does not matter.
    name: str
    # At least 8 characters; without a password, the user cannot sign in with one.
    password: NotRequired[str | None]
    # The role: `member` if absent.
    role: NotRequired[Literal['admin', 'member', 'reader'] | None]
    # Take over sessions that already belong to this name. Otherwise such a name is refused.
    take_over: NotRequired[bool | None]


class WriteRequest(TypedDict):
    """A file to write."""

    # The session's id or name.
    session_id: str
    # The path in the workspace: `/src/main.py` and `/workspace/src/main.py` are the same file.
    path: str
    # The content, if it is text.
    content: NotRequired[str | None]
    # The content as base64, if it is not text.
    base64: NotRequired[str | None]
    encoding: NotRequired[PathEncoding | None]


class WrittenFile(TypedDict):
    """The written file."""

    # The path as requested.
    path: str
    # Always `success`.
    status: str
    # The file's size in bytes.
    size: int
    # When it was written.
    modified: Timestamp
    # Identifies this version of the file.
    etag: str


# What a person decided.
ApprovalDecision: TypeAlias = "Literal['allow_once', 'allow_conversation', 'deny']"

# When a person is asked before a command of the agent runs.
ApprovalPolicyName: TypeAlias = "Literal['never', 'on-failure', 'on-request', 'unless-trusted']"

# What kind of build it is.
BuildKind: TypeAlias = "Literal['cpp', 'c', 'cmake', 'make', 'language']"

# The state of a build.
BuildStatus: TypeAlias = "Literal['running', 'success', 'failed', 'cancelled', 'timed_out', 'lost']"

# What happens to child processes that outlive the program.
Children: TypeAlias = "Literal['keep', 'kill']"

# The command, in one of three forms.
Command: TypeAlias = "ArgvCommand | ShellCommand | CodeCommand"

# A conversation with its messages.
ConversationDetail: TypeAlias = "Any"

# The id of a conversation: `cnv_` and 32 hexadecimal digits, or what its creator chose.
ConversationId: TypeAlias = "str"

# What the agent may do.
ConversationMode: TypeAlias = "Literal['default', 'plan']"

# When a message that arrives during a turn reaches the agent.
Delivery: TypeAlias = "Literal['steer', 'queue']"

# A message of a compiler.
Diagnostic: TypeAlias = "Any"

# A note that explains a diagnostic.
DiagnosticNote: TypeAlias = "Any"

# An event of an execution's log. `seq` is the resume token, `at_ms` counts from the start.
Event: TypeAlias = "StartedEvent | StdoutEvent | StderrEvent | OutputEvent | GapEvent | ExitedEvent | ClosedEvent"

# The id of an execution: `exe_` and 32 hexadecimal digits.
ExecutionId: TypeAlias = "str"

# The kind of a line of output.
ExecutionOutputType: TypeAlias = "Literal['log', 'info', 'warn', 'error', 'return', 'stdout']"

# How an execution in a chat ended.
ExecutionResultStatus: TypeAlias = "Literal['success', 'error', 'timeout']"

# The state of an execution.
ExecutionStateName: TypeAlias = "Literal['queued', 'running', 'exited', 'closed']"

# The status of an execution.
ExecutionStatusName: TypeAlias = "Literal['queued', 'running', 'completed', 'failed']"

# What is known of an execution's end beyond its reason. Later versions may add kinds.
ExitDetail: TypeAlias = "CommandNotFoundExitDetail | InterpreterNotFoundExitDetail | NotExecutableExitDetail | BadWorkingDirectoryExitDetail | ArgumentsTooLongExitDetail | NoResourcesExitDetail | TimedOutExitDetail | LimitExitDetail | SessionEndedExitDetail | SessionHibernatedExitDetail | OtherExitDetail"

# Why an execution ended.
ExitReason: TypeAlias = "Literal['exited', 'signalled', 'timed_out', 'cancelled', 'oom', 'output_limit', 'disk_limit', 'setup_failed', 'lost']"

# The type of a change that a watch reports.
FileChangeType: TypeAlias = "Literal['ready', 'created', 'modified', 'removed', 'moved', 'overflow', 'limit', 'rescan', 'ended']"

# The type of a difference.
FileDifferenceType: TypeAlias = "Literal['added', 'modified', 'removed']"

# The type of a file.
FileType: TypeAlias = "Literal['file', 'folder', 'link', 'other']"

# A limit, by its name in `limits`.
LimitKind: TypeAlias = "Literal['memory_bytes', 'cpu_ms', 'output_bytes', 'disk_bytes', 'inodes', 'file_bytes']"

# The time of a line: RFC 3339, or milliseconds since 1970.
LineTime: TypeAlias = "Timestamp | int"

# A numbered event.
LogEntry: TypeAlias = "MessageAddedLogEntry | BranchSelectedLogEntry | TurnStartedLogEntry | StepStartedLogEntry | StepDiscardedLogEntry | TextStartedLogEntry | TextDeltaLogEntry | TextEndedLogEntry | ToolCallStartedLogEntry | ToolCallDeltaLogEntry | ToolCallReadyLogEntry | ToolCallRunningLogEntry | ApprovalRequestedLogEntry | ApprovalAnsweredLogEntry | InputRequestedLogEntry | InputAnsweredLogEntry | ToolCallEndedLogEntry | PlanUpdatedLogEntry | NoticedLogEntry | StepEndedLogEntry | TurnEndedLogEntry | MessageQueuedLogEntry | MessageUnqueuedLogEntry | CompactedLogEntry | TitleChangedLogEntry"

# The id of a message, unique in its conversation: `msg_` and 32 hexadecimal digits, or what its sender chose.
MessageId: TypeAlias = "str"

# Who wrote a message.
MessageRole: TypeAlias = "Literal['user', 'assistant']"

# Whether a model can be reached.
ModelStatus: TypeAlias = "Literal['unknown', 'ok', 'failed']"

# The network access of a session.
Network: TypeAlias = "Literal['none', 'packages', 'full']"

# What happens when the output limit is reached.
OnOutputLimit: TypeAlias = "Literal['trim', 'stop']"

# The source of output bytes.
OutputStream: TypeAlias = "Literal['stdout', 'stderr', 'output']"

# A part of a message.
Part: TypeAlias = "TextPart | ReasoningPart | ToolCallPart | AttachmentPart | StepPart | NoticePart"

# The encoding of a path that is not valid UTF-8.
PathEncoding: TypeAlias = "Literal['percent']"

# Where a step of a plan stands.
PlanStepStatus: TypeAlias = "Literal['pending', 'in_progress', 'completed']"

# The type of a content.
ProgressType: TypeAlias = "Literal['stdout', 'stderr', 'status']"

# The isolation of a session. Shown wherever the session is shown.
SandboxKind: TypeAlias = "Literal['full', 'none']"

# The id of a session: `ses_` and 32 hexadecimal digits.
SessionId: TypeAlias = "str"

# The state of a session.
SessionStateName: TypeAlias = "Literal['ready', 'hibernated', 'ended']"

# The severity of a diagnostic.
Severity: TypeAlias = "Literal['error', 'warning', 'note']"

# A signal by number or name.
SignalName: TypeAlias = "int | str"

# The id of a snapshot of a workspace: `snp_` and 32 hexadecimal digits.
SnapshotId: TypeAlias = "str"

# Standard input of the program.
StdinRequest: TypeAlias = "Literal['none'] | Literal['open'] | dict[str, Any]"

# A time in milliseconds since 1970.
Timestamp: TypeAlias = "str"

# Where a title is from.
TitleSource: TypeAlias = "Literal['message', 'model', 'person']"

# The arguments of a tool, as its schema in `GET /v1/tools` describes them.
ToolArguments: TypeAlias = "dict[str, Any]"

# Where a tool call stands. Every view shows this state and decides nothing itself.
ToolCallState: TypeAlias = "Literal['writing', 'ready', 'waiting', 'running', 'succeeded', 'failed', 'denied', 'stopped']"

# An event of a tool call: its start, a piece of its output, or its result.
ToolEvent: TypeAlias = "ToolCallStartEvent | CodeExecutionOutputEvent | ToolResultEvent"

# The data of an event of a tool's stream: `progress` events, and one `result` at the end.
ToolEvents: TypeAlias = "ToolCallProgress | ToolOutcome"

# The source of a text.
ToolOutputSource: TypeAlias = "Literal['stdout', 'stderr', 'timeout', 'error']"

# How a turn ended.
TurnOutcome: TypeAlias = "Literal['completed', 'stopped', 'failed', 'step_limit']"

# How much of the output of running calls is sent.
UiProgressMode: TypeAlias = "Literal['full', 'tail', 'none']"

# Why a client sends its messages.
UiTrigger: TypeAlias = "Literal['submit-message', 'regenerate-message']"

# The event that ends a stream.
Until: TypeAlias = "Literal['exited', 'closed']"
