// Generated from docs/openapi.json by `npm run generate`. Do not edit.

export interface paths {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns whether the process is running. */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sets a cookie for the token or share link in the URL, and redirects to a page. For people.
         * @description A page sends the token as `Authorization: Bearer` instead, so that no history and no proxy's log contains it.
         *     The cookie is a separate secret: it ends with the token, and the token cannot be read from it.
         */
        get: operations["openLoginLink"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns the server's metrics, for Prometheus. For operators, and for their tokens with the scope `metrics:read`. */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns this document. Needs no credential, so that tools can read it. */
        get: operations["getOpenapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns whether the server can do its work: the store and the worker respond within two seconds. With a
         *     full disk the server is ready, because reading and deleting work; a second line reports the full disk.
         */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tool-progress/{conversation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follows the output of a conversation's tools, as text.
         * @description Each event is `id: <opaque>` and `data: <json>`, without `event:`, so that `EventSource.onmessage`
         *     receives it. A call begins with the status `running` and ends with its result: `exited 0`, `timed out
         *     after 5 s`, `cancelled`. Binary output is not sent: one status reports it, and its bytes are at
         *     `/v1/executions/{id}/output`. A client that falls behind or connects late gets the last 50 KB of a call's
         *     output, and a status that says how much was skipped; the result has everything. A call's id is the
         *     `tool_call_id` in the execution's metadata, or the execution's id. This route is also at
         *     `/v1/tool-progress/{conversation_id}`.
         */
        get: operations["followToolProgress"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists audit rows, newest first. */
        get: operations["listAuditRows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Exports all audit rows as JSON lines, newest first. */
        get: operations["exportAuditRows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/builds/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns a build. */
        get: operations["getBuild"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/builds/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancels a build. Cancelling a build that has ended has no effect. */
        post: operations["cancelBuild"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sends what an AI SDK front end sends, and streams the response: `api` of `DefaultChatTransport` and `useChat`.
         * @description Only the new message is taken; the conversation's own history is the truth, and outputs of tools that a client sends are
         *     ignored. The conversation is created if it does not exist. The response is a UI message stream: `data: <chunk>`, at the
         *     end `data: [DONE]`. The turn goes on if the client disconnects. A stream that waits for consent ends with the
         *     `finishReason` `tool-calls`; the next request, with the answer in its message, continues it.
         */
        post: operations["sendUiMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/executions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Saves the result of an execution that a chat's client ran itself.
         * @description A result with the same message, artifact and execution replaces the earlier one. The newest 5,000 results of a user
         *     are kept.
         */
        post: operations["saveChatExecution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/executions/{message_uuid}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns the newest 100 results that were saved with a message, oldest first. */
        get: operations["getChatExecutions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/socket": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The WebSocket of `WebSocketChatTransport`: it sends messages and resumes responses, several at once.
         * @description The frames are those of the AI SDK: `send`, `resume` and `abort` of the client; `start`, `chunk`, `end`, `error` and
         *     `no-active` of the server. `body` has the fields `model`, `session_id` and `progress`; `headers` are ignored. An `abort`
         *     ends a response for this client; the turn goes on.
         */
        get: operations["openUiSocket"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stops the response that the agent is writing. What it has written and what its programs have printed is kept. */
        post: operations["stopUiStream"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/{id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns the response that the agent is writing, from its beginning, and goes on with it; 204 if nothing runs. */
        get: operations["resumeUiStream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists your conversations, latest activity first, without those of sub-agents. */
        get: operations["listConversations"];
        put?: never;
        /**
         * Creates a conversation with an agent.
         * @description Its log has everything that is said and done. The agent works in a session of its own, which its first call of a tool
         *     creates, or in the one that `session_id` names; it has the rights of the conversation's owner, and no others.
         */
        post: operations["createConversation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{conversation_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follows all executions of a conversation: those with its `conversation_id` in their metadata.
         * @description Works as `GET /v1/sessions/{id}/events`. The id may be that of a conversation that the caller may read, or any other
         *     text: then it selects the caller's executions that name it, in any session. The stream of an unknown id has no events
         *     until something is started for it.
         */
        get: operations["followConversation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns a conversation with the messages of all its branches. */
        get: operations["getConversation"];
        put?: never;
        post?: never;
        /** Deletes a conversation with those of its sub-agents, and ends their turns. Its session stays. */
        delete: operations["deleteConversation"];
        options?: never;
        head?: never;
        /**
         * Changes a conversation. Absent fields keep their values. Only the owner may change `approval_policy`,
         *     `session_id`, `web_search` and `mcp_servers`.
         * @description Settings of the agent hold from its next turn on.
         */
        patch: operations["updateConversation"];
        trace?: never;
    };
    "/v1/conversations/{id}/answers/{tool_call_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answers questions of the agent. */
        post: operations["answerQuestions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/approvals/{approval_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answers a request for consent. Only the owner may allow; editors may refuse. */
        post: operations["answerApproval"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/attachments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Writes a file into the folder `attachments` of the workspace, for a message that follows.
         * @description The body is used as it is. A file that is there already is kept: the new one gets a number.
         */
        post: operations["addAttachment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/branch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes the newest branch with this message the current one: the next message belongs to it. */
        post: operations["selectBranch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns a conversation as a file, as it is now.
         * @description Everybody who may read it may export it, with a link, too. What a provider wants to get back with an answer (signatures,
         *     encrypted reasoning) is left out.
         */
        get: operations["exportConversation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the log of a conversation: everything that was said and done, in order.
         * @description With `Accept: text/event-stream` the response is a stream that goes on with what happens: each event is `id: <seq>`,
         *     `event: entry`, `data: <json>`. A client that reconnects with the last `id` gets everything exactly once. Text arrives
         *     as deltas; the event at its end has the whole text, and the deltas may be missing from then on. The server also sends
         *     `reconnect` (it is shutting down: reconnect with the last `id`), `error` (the conversation was deleted), and comments
         *     as heartbeats. The stream does not end by itself.
         */
        get: operations["followConversationLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the members of a conversation. Links may not. */
        get: operations["listConversationMembers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/members/{user}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Adds a member to a conversation, or changes its role. For its owner.
         * @description Viewers may read the conversation and the executions that belong to it; editors may also write to the agent, which
         *     works with the rights of the owner. Both include the conversations of its sub-agents, and nothing else of its session.
         */
        put: operations["setConversationMember"];
        post?: never;
        /** Removes a member from a conversation and closes its streams. For the owner, and for the member itself. */
        delete: operations["removeConversationMember"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sends a message to the agent.
         * @description A turn begins; its events are in the log. While a turn runs, the message waits: for the next step of this turn
         *     (`steer`), or for its end (`queue`). `parent_id` says where the message belongs: with the parent of an earlier message
         *     it is that message, edited, in a new branch. Messages into another branch are refused while a turn runs (409).
         */
        post: operations["sendMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/queue/{message_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Withdraws a message that waits for the agent. */
        delete: operations["withdrawMessage"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/regenerate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lets the agent answer the same message again. The new answer is a branch; the old one is kept. */
        post: operations["regenerateAnswer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/shares": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the links to a conversation, without their secrets. For its owner. */
        get: operations["listConversationShares"];
        put?: never;
        /**
         * Creates a link to a conversation: the holder of its token may use this conversation and those of its sub-agents, read
         *     the executions that belong to them, and nothing else. For its owner.
         */
        post: operations["createConversationShare"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/shares/{share}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revokes a link: it is refused from now on, and its streams are closed. For the conversation's owner. */
        delete: operations["revokeConversationShare"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stops the turn that runs: the agent's programs end, and what they have printed is kept. */
        post: operations["stopTurn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Checks what the host can isolate and limit, as `headwater doctor` does. Takes some seconds. For administrators. */
        get: operations["checkHost"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/executions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists executions, newest first.
         * @description A page may have fewer entries than `limit`; only the last page has no `next_cursor`.
         */
        get: operations["listExecutions"];
        put?: never;
        /**
         * Starts an execution in a dedicated session, which ends with it.
         * @description Responds like `POST /v1/sessions/{id}/executions`.
         */
        post: operations["startExecution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/executions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns an execution, immediately or after it has ended. */
        get: operations["getExecution"];
        put?: never;
        post?: never;
        /** Removes a closed execution and its log. */
        delete: operations["deleteExecution"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/executions/{id}/attach": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Attaches to an execution by WebSocket: receives its output, and sends input, signals and sizes.
         * @description Server frames with `frames=binary`: output is `0x01`, the stream (1 stdout, 2 stderr, 3 output), its `seq`
         *     as u64 LE, and its bytes. Other events are `0x02` and JSON, and so are errors (`{"type": "error", code,
         *     message, hint}`), which leave the socket open. With `frames=events` each frame is a text frame with an
         *     event's JSON.
         *
         *     Client frames, binary: `0x10` input, `0x11` end of input, `0x12` rows u16 LE cols u16 LE, `0x13` signal
         *     u8, `0x14` credit u32 LE. Text: `{"type": "stdin", "text" or "base64"}`, `eof`, `resize` with `rows` and
         *     `cols`, `signal`, `interrupt`, `credit` with `bytes`, `cancel`. Any number of clients may attach; their input is
         *     combined in order of arrival.
         *
         *     After the first credit, the server sends at most as many bytes of output as were granted; other events
         *     need no credit. A larger output event is divided: a frame that repeats the `seq` of the frame before it
         *     carries the first part of the next event. A client that reconnects after such a frame sends `after=` that
         *     seq, and `skip=` the bytes of those frames.
         *
         *     Close codes: 1000 after the last event; 1002 invalid WebSocket frames; 1008 the token is no longer valid;
         *     1009 a message over 1 MiB; 1011 the rest of the log cannot be read; 1012 the server is shutting down
         *     (reconnect with `after=`).
         */
        get: operations["attachToExecution"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/executions/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancels an execution: sends SIGTERM to all its processes, and SIGKILL after a grace period.
         * @description Cancelling an execution that has ended has no effect.
         */
        post: operations["cancelExecution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/executions/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follows an execution: sends all events after a position, then new events as they happen.
         * @description Each event is `id: <seq>`, `event: <type>`, `data: <json>`. The texts (or decoded bytes) of a stream's
         *     events, joined, are exactly the bytes that the program wrote, however often the client reconnects with the
         *     last `id`. The server also sends `reconnect` (it is shutting down: reconnect with the last `id`; this
         *     event has no id), `error` (the rest of the log cannot be read), and comments as heartbeats.
         */
        get: operations["followExecution"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/executions/{id}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the raw output of an execution: exactly the bytes that it wrote, as far as they are kept.
         * @description Supports ranges, including ranges of `merged`. Bytes that are no longer kept because of the output limit
         *     are left out: the body has the bytes before the gap, directly followed by the bytes after it. The header
         *     `X-Headwater-Gap: <first byte>-<first byte after>` has the gap in bytes of the output; ranges and lengths
         *     refer to the body. A range with bytes from both sides of the gap is refused (416, `range_crosses_gap`). If
         *     bytes of a running program are dropped while they are sent, the response breaks off; with `follow` and
         *     `lossless` none are dropped.
         */
        get: operations["getExecutionOutput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/executions/{id}/processes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the current processes of an execution. */
        get: operations["listExecutionProcesses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/executions/{id}/recording": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns a recording of an execution in the format asciicast v3: its output so far, with times and terminal
         *     sizes.
         * @description `asciinema play` shows it. Output of a terminal is unchanged. Without a terminal, standard output and
         *     error are merged, and lines end with a carriage return as on a terminal. Bytes that are not UTF-8 become
         *     U+FFFD; output that is no longer kept is reported by a marker.
         */
        get: operations["getExecutionRecording"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/executions/{id}/rerun": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs an execution again, with the same command, working directory, variables, limits and terminal.
         * @description It runs in the same session or, if that has ended, in a dedicated one. Its input is not kept: input that was part
         *     of the request is empty, and input that was sent later can be sent again.
         */
        post: operations["rerunExecution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/executions/{id}/resize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resizes an execution's terminal. */
        post: operations["resizeExecution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/executions/{id}/signal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends a signal to an execution's foreground process group, or to all its processes. */
        post: operations["signalExecution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/executions/{id}/stdin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Writes to an execution's standard input.
         * @description The body is used as it is, whatever its type. The response is sent when the program's pipe or terminal has
         *     all of it.
         */
        post: operations["writeExecutionInput"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns the server's versions, its isolation layers, and how each limit is enforced on this host. */
        get: operations["getServerInfo"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/languages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the languages that the server knows: those that are installed, and those whose tool is missing, with
         *     the package that provides it.
         */
        get: operations["listLanguages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Signs a user in with a password.
         * @description The access token is a JWT that is valid for some minutes; the refresh token gets the next one. With
         *     `cookie` a browser gets a cookie instead. After ten failures for one name from one address, further
         *     attempts for this name from there are delayed; other names are not.
         */
        post: operations["signIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/login/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Returns the next access token and the next refresh token. Each refresh token is valid for one use.
         * @description A second use means that the token was stolen, so the sign-in is ended for both holders.
         */
        post: operations["refreshSignIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Signs out: the access token, its refresh token or the cookie is refused from now on, and its streams are
         *     closed.
         */
        post: operations["signOut"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns the caller and its rights. */
        get: operations["getCaller"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the models that agents can use. Keys are not shown. */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/prune": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Removes logs of ended executions.
         * @description Without `older_than`, `keep` and `all`, the rules of the configuration (`[retention]`) are applied now.
         *     Running executions and logs that are being read are never removed. Members remove their own logs, the
         *     operator those of everybody.
         */
        post: operations["pruneLogs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists sessions, newest first, without their environment variables, which `GET /v1/sessions/{id}` returns.
         * @description A page may have fewer entries than `limit`; only the last page has no `next_cursor`.
         */
        get: operations["listSessions"];
        put?: never;
        /**
         * Creates a session: an isolated environment with its own workspace.
         * @description Requests with the same `Idempotency-Key` create one session.
         */
        post: operations["createSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/build/cpp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compiles and links C++ files of a session's workspace.
         * @description Responds when the build has ended, unless `"wait": false`. A build of the same files with the same
         *     compiler and flags is taken from the cache (`"cached": true`).
         */
        post: operations["buildCpp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/execute/binary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs a program of a session's workspace.
         * @description A program that cannot be started is an execution with the status `failed`, whose `message` says why. The
         *     output is also sent to the viewers of the session's terminals that use JSON messages.
         */
        post: operations["executeBinary"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/execute/{language}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs code of a language in a session.
         * @description The output is also sent to the viewers of the session's terminals that use JSON messages.
         */
        post: operations["executeCode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/executions/{execution_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns the status of an execution and its output so far. */
        get: operations["getExecutionStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/files/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lists a folder, at most 10,000 entries. */
        post: operations["listDirectory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/files/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reads a file.
         * @description If the file changes while it is sent, the response breaks off. Files of more than 16 MiB are refused; `GET
         *     /v1/sessions/{id}/files/content` has no such limit.
         */
        post: operations["readTextFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/files/write": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Writes or replaces a file; missing parent folders are created. */
        post: operations["writeTextFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns a session. Callers with read-only access get the names of its environment variables without their
         *     values.
         */
        get: operations["getSession"];
        put?: never;
        post?: never;
        /** Ends a session with its programs, and deletes its workspace, snapshots, executions and logs. */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        /** Changes a session. Absent fields keep their value. */
        patch: operations["updateSession"];
        trace?: never;
    };
    "/v1/sessions/{id}/builds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the builds of a session, newest first, without their output. */
        get: operations["listBuilds"];
        put?: never;
        /** Builds C and C++ files, a `CMake` project, a makefile, or a source in another language in a session. */
        post: operations["createBuild"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/builds/compile-commands": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the compilation database of a session: how its C and C++ sources were last compiled. It is limited
         *     to about 4 MiB; the newest builds come first.
         */
        get: operations["getCompileCommands"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follows all executions of a session, as they start, print and end.
         * @description Each event is an event of one execution, as in `GET /v1/executions/{id}/events`, with `execution_id`
         *     added, and with `tool_call_id` and `conversation_id` if its metadata has them. Events are sent in order of
         *     arrival. The events of one execution are in order, and each is sent once, however often the client
         *     reconnects with the last `id`. Up to 64 executions are followed at once; later ones wait until one of
         *     these has closed. The stream does not end by itself. The server also sends `reconnect` (it is shutting
         *     down: reconnect with the last `id`), `error` (the rest of the log of `execution_id` cannot be read), and
         *     comments as heartbeats.
         *
         *     With `dialect=tool_calls` the events are `TOOL_CALL_START`, `CODE_EXECUTION_OUTPUT` and `TOOL_RESULT`, as
         *     in `POST /v1/tools/code_execution`, with their fields in `payload`; with `dialect=tool_calls_flat` the fields are
         *     beside `type`. With `dialect=tool_progress` they are those of `GET /tool-progress/{conversation_id}`. An `id` is
         *     only valid in the dialect that it came from.
         */
        get: operations["followSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/executions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Starts an execution in a session.
         * @description Returns the execution; or, with `Accept: text/event-stream`, its events as they happen, beginning with
         *     `started`, which has its id. The query parameters are those of the event stream.
         */
        post: operations["startExecutionInSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the entries of a folder in byte order of their names, a folder before its entries.
         * @description If the folder changes between pages, entries that exist throughout are listed exactly once.
         */
        get: operations["listFiles"];
        put?: never;
        post?: never;
        /** Removes a file, a link (not its target) or a folder. */
        delete: operations["deleteFile"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/files/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Downloads a folder with its content as an archive, which is created while it is sent.
         * @description Names, permissions, empty folders and links are preserved (a ZIP has no times). FIFOs, sockets and devices
         *     are left out; `X-Headwater-Left-Out` has their number. Each file is as it was when it was read. A body
         *     that breaks off is not a complete archive. Every archive that this route returns can be unpacked by `PUT`.
         */
        get: operations["downloadArchive"];
        /**
         * Unpacks an archive into a folder, which is created if it does not exist: all of it, or nothing.
         * @description The whole archive is refused if it contains paths with `..` or absolute paths, paths through a link, hard
         *     links, devices, FIFOs or duplicate paths, if it is damaged or encrypted, or if it exceeds the session's
         *     disk limit. A symbolic link may point anywhere: the server follows none. Zeros become holes. Set-user-ID
         *     bits are removed. Existing files with the same path are replaced, but a folder never replaces a file, nor
         *     a file a folder (409, before anything is changed).
         */
        put: operations["unpackArchive"];
        /** Works as `PUT`. */
        post: operations["importArchive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/files/chmod": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Changes the permissions of a file or a folder. */
        post: operations["changeFileMode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/files/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the content of a file. Supports ranges; the `ETag` changes with the file.
         * @description Only ordinary files are opened. The content type is always `application/octet-stream`, for download,
         *     because the server cannot vouch for the content. If the file is truncated while it is sent, the response
         *     breaks off.
         */
        get: operations["readFile"];
        /**
         * Writes a file: replaces it atomically, appends to it, or writes from an offset on.
         * @description The body is used as it is, whatever its type, and may be as large as the session's disk limit allows.
         *     Nothing is changed before all of it has arrived. The file to replace must be an ordinary file with a
         *     single hard link.
         */
        put: operations["writeFile"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/files/copy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Copies a file, or a folder with its content. The copy appears as a whole, or not at all.
         * @description Links are copied as links; FIFOs, sockets and devices are left out and counted.
         */
        post: operations["copyFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/files/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the differences between the workspace now and at the session's start, or in a snapshot.
         * @description At its start a session's workspace is empty, or the copy that it was forked with.
         */
        get: operations["diffFiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/files/folders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Creates a folder and its parents. An existing folder is not an error. */
        post: operations["createFolder"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/files/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Moves a file or a folder atomically; missing parent folders are created. */
        post: operations["moveFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/files/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Searches the workspace by name, by content, or by both.
         * @description With `content`, the matching lines of files are returned, with line and column from 1 (in bytes) and up to
         *     400 bytes of the line; binary files are skipped. Otherwise the files and folders with matching names are
         *     returned. Links are not followed. With `Accept: application/x-ndjson` each match is sent as a line of JSON
         *     as soon as it is found, and the last line is `{"summary": ...}`; the search ends if the client
         *     disconnects.
         */
        get: operations["searchFiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/files/stat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns the file, folder or link at a path. A link is returned as such: nothing is followed or opened. */
        get: operations["getFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/files/watch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Watches a workspace for changes.
         * @description As SSE each event is `event: <type>`, `data: <json>`; by WebSocket (the same path, with `Upgrade`) each is
         *     a text frame. The first event is `ready`; changes after it are reported. Changes of one path within 75 ms
         *     are one event; a file that was created and removed within that time is not reported. `moved` has `from`.
         *     Nothing is lost silently: `overflow` says that more changes happened than could be kept, `rescan` that
         *     everything has to be read again (for example after a restart of the worker), `limit` that there are more
         *     than the 8192 folders that are watched. `ended` is the last event when the session has ended; `reconnect`
         *     is sent when the server is shutting down: reconnect, and read everything again. Events have no ids: a
         *     client that reconnects begins anew.
         */
        get: operations["watchFiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Creates a session like another: with the same limits and environment variables, and a copy of its
         *     workspace or of a snapshot.
         * @description Running programs are not copied. The new session appears with the complete copy, or not at all.
         */
        post: operations["forkSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/hibernate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Hibernates a session: its programs end (SIGTERM, then SIGKILL after ten seconds), its workspace is kept,
         *     and the next use resumes it. Idle sessions hibernate by themselves.
         */
        post: operations["hibernateSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the members of a session. */
        get: operations["listMembers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/members/{user}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns a member of a session. */
        get: operations["getMember"];
        /**
         * Adds a member to a session, or changes its role. For its owner.
         * @description Viewers have read-only access; editors can also start, change and end programs. Only the owner can delete
         *     the session and choose its members. The response does not reveal whether a user of that name exists.
         */
        put: operations["setMember"];
        post?: never;
        /** Removes a member from a session and closes its streams. For the owner, and for the member itself. */
        delete: operations["removeMember"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/node/packages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the modules in a session's `node_modules`. Runs no program. */
        get: operations["listNodePackages"];
        put?: never;
        /** Installs and uninstalls packages in a session's `node_modules`. */
        post: operations["changeNodePackages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/ports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the TCP ports that programs of a session listen on now. A session that is hibernated or that uses the network
         *     of the host has none.
         */
        get: operations["listPorts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/previews": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Opens a port of a session as a web site on an origin of its own, for 12 hours. Requires write access to the session. */
        post: operations["createPreview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/python/environment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns a session's virtual environment. */
        get: operations["getPythonEnvironment"];
        put?: never;
        /**
         * Creates a session's virtual environment if it does not exist, in an execution: when that has ended, it is
         *     ready.
         */
        post: operations["createPythonEnvironment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/python/packages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the packages of a session's virtual environment. Runs no program. */
        get: operations["listPythonPackages"];
        put?: never;
        /**
         * Installs and uninstalls packages in a session's virtual environment, which is created first if it does not
         *     exist.
         */
        post: operations["changePythonPackages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the rules by which commands of agents run in a session without a question.
         * @description A person adds a rule with the answer "Always allow" to a question of `/mcp`; nothing else does.
         */
        get: operations["listRules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/rules/{number}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Removes a rule of a session: a person is asked again. */
        delete: operations["deleteRule"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/shares": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the links of a session, without their secrets. For its owner. */
        get: operations["listShares"];
        put?: never;
        /**
         * Creates a link to a session: the holder of its token may use this session, and nothing else. For its
         *     owner.
         */
        post: operations["createShare"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/shares/{share}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revokes a link: it is refused from now on, and its streams are closed. For the session's owner. */
        delete: operations["revokeShare"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/snapshots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the snapshots of a session, oldest first. */
        get: operations["listSnapshots"];
        put?: never;
        /**
         * Creates a snapshot of the workspace.
         * @description Where the file system supports it, the snapshot shares its blocks with the workspace. Programs may
         *     continue to run: each file is as it was when it was copied, and the files may be from different moments.
         *     FIFOs, sockets and devices are left out, and hard links become separate files. A session keeps up to 32
         *     snapshots; they count towards its disk limit, and are deleted with it.
         */
        post: operations["createSnapshot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/snapshots/{snapshot}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Removes a snapshot. */
        delete: operations["deleteSnapshot"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/snapshots/{snapshot}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restores a snapshot: replaces the whole content of the workspace.
         * @description The copy is created first; then the content of the workspace is replaced, each entry atomically. Running
         *     programs see the same folder with other content, and keep the files that they have open. A worker that is
         *     killed in the middle completes the restore when it is restarted.
         */
        post: operations["restoreSnapshot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/terminal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Opens a terminal of a session by WebSocket: a login shell that keeps running when the socket closes.
         * @description The terminal is created if none of this name is running. Any number of viewers may join a terminal; the
         *     last one that typed controls its size.
         *
         *     Client, text: `{"type": "command", "command" or "data"}` (a line and Enter), and the messages of `attach`.
         *     Binary, as in `attach`: `0x10` keys, `0x11` sends `^D`, `0x12` size, `0x13` signal, `0x14` credit.
         *
         *     Server: `{"type": "output", "content", "seq"}`, `{"type": "error", "message"}`, `{"type": "prompt"}`,
         *     `{"type": "exit", "code"}`, `{"type": "resized", "rows", "cols"}`, and for executions that `POST
         *     /v1/sessions/execute/...` starts in the session, `output` with their `execution_id` and
         *     `{"type": "execution_ended", "execution_id", "code"}`. After `frames=binary`, the subprotocol
         *     `headwater.frames` or the client's first binary frame, the server sends binary frames as in `attach`, with
         *     the additional events `attached`, `resized`, `snapshot`, `prompt`, `command_started`, `command_ended` and
         *     `directory`.
         *
         *     A client that reconnects with `after=` the last `seq` gets the missing output or, if that is more than 256
         *     KiB, the screen: bytes that reset the viewer's terminal and draw it. A viewer that falls behind also gets
         *     the screen, and so does a client without `after=`. The close codes are those of `attach`.
         */
        get: operations["openTerminal"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/terminals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the terminals of a session. Does not count as use of them. */
        get: operations["listTerminals"];
        put?: never;
        /** Creates a terminal, if none of its name is running. */
        post: operations["createTerminal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/terminals/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Ends a terminal: hangs it up, and cancels the processes that remain. */
        delete: operations["deleteTerminal"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/terminals/{name}/snapshot": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns the screen of a terminal: bytes that draw it, including the scrollback. */
        get: operations["getTerminalScreen"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/tool-calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the calls of tools in a session (`POST /v1/tools/{tool}`), newest first.
         * @description A call appears shortly after it has ended. Old calls are removed as the rows of executions are. A page may have fewer
         *     entries than `limit`; only the last page has no `next_cursor`.
         */
        get: operations["listToolCalls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns what a session uses now, and its limits. Does not resume a hibernated session or keep an idle one
         *     awake.
         */
        get: operations["getSessionUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Every setting with its value, its default and where the value comes from, as `headwater config` shows them. For
         *     administrators.
         */
        get: operations["listSettings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the templates: files and limits that a session can start with (`template` of `POST /v1/sessions`). */
        get: operations["listTemplates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tickets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Creates a ticket, which opens one stream within 30 s where no header can be set, and resumes that stream.
         * @description The first use binds the ticket to the stream: the path and the parameters that select it. Later uses are
         *     accepted for this stream only, and only to resume it: with the header `Last-Event-ID`, or `after=` for a
         *     WebSocket. `EventSource` can therefore reconnect by itself, even after a restart of the server. A ticket
         *     ends with the credential that created it. A stream opened with a ticket begins with `id: start`, which
         *     `EventSource` sends back if the connection is lost before the first event.
         */
        post: operations["createTicket"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists your tokens (for operators, all tokens), newest first, without their secrets. */
        get: operations["listTokens"];
        put?: never;
        /**
         * Creates a token. Its secret is returned only here.
         * @description A token has at most your own rights: no higher role, no other sessions, no more scopes, and it expires no
         *     later than the token that creates it.
         */
        post: operations["createToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revokes a token: it is refused from now on, and its streams are closed. */
        delete: operations["revokeToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the tools with their JSON schemas, for a request to a model. */
        get: operations["listTools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tools/code_execution": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs code for an agent: `runtime` is `terminal` (bash), `python` or `nodejs`.
         * @description With `Accept: text/event-stream` the response is a stream of `{type, thread_id, timestamp, payload}`. The payload
         *     of `TOOL_CALL_START` is `{id, tool_name, tool_args, thread_id, timestamp, execution_id}`. A
         *     `CODE_EXECUTION_OUTPUT` follows for each chunk of at most 4096 bytes: `{tool_call_id, thread_id, source, stdout |
         *     stderr, timestamp, execution_id}`; `source` is `stdout`, `stderr`, `timeout` or `error`, and the text of the last
         *     two is in `stderr`, that of `error` in `error` too. The last event is the `TOOL_RESULT`. With
         *     `dialect=tool_calls_flat` the fields of the payload are beside `type`. Without `Accept: text/event-stream` the
         *     response is the payload of the `TOOL_RESULT`, after the program has ended.
         *
         *     The program continues if the caller disconnects. The same request with the same `Idempotency-Key` is
         *     answered again from the beginning, and starts nothing. Calls with the same `interactive_id` share a
         *     session, which hibernates when it is idle. The session keeps files, installed packages and running
         *     background processes between calls. It does not keep variables, imports or the working directory, because
         *     every call is a new process: save in files what the next call needs. Other calls without a `session_id` get
         *     a dedicated session, which ends with them, including background processes.
         */
        post: operations["runCodeExecutionTool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tools/run_command": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs a shell command (bash) for an agent and returns the result.
         * @description It runs in the session `sessionId`, in the session of its `interactiveId`, or in a dedicated session. With
         *     `Accept: text/event-stream` the response is a stream, as in `POST /v1/tools/code_execution`. With a
         *     `conversationId` the progress is at `GET /tool-progress/{conversation_id}`. This route is also at
         *     `/v1/tools/runCommand`; the tool's name in the events is then `runCommand`.
         */
        post: operations["runCommandTool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tools/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Calls a tool for an agent, in a session, and returns its result for the model.
         * @description The body has the arguments of the tool (`GET /v1/tools` lists them); the query string has everything else. A tool that
         *     fails, or refuses its arguments, is a result with `is_error` that the model should read. Other responses than
         *     200 are for the caller: an unknown tool or session, a missing right, a body that is not a JSON object.
         *
         *     With `Accept: text/event-stream` the response is a stream: `progress` events with the newest output while the tool
         *     waits for a program, at most ten in a second, and the `result` at the end. If the caller disconnects, the waiting ends;
         *     the program continues, unless the arguments say `"on_disconnect": "kill"`.
         *
         *     A token with scopes needs `files:read` or `files:write` for tools that work on files, and `executions:read` or
         *     `executions:write` for all others. Viewers of a session may call the tools that only read.
         */
        post: operations["callTool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns your quota, your use, and your queued starts. */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/usage/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns what your running sessions use now. Hibernated sessions use only disk space, and are left out. */
        get: operations["listSessionUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists users, newest first. For operators. */
        get: operations["listUsers"];
        put?: never;
        /**
         * Creates a user. For operators.
         * @description A name that owns sessions, such as that of a deleted user, is refused with the code `name_owns_sessions`
         *     unless `take_over` is true.
         */
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns a user. Operators may get all users, others themselves. */
        get: operations["getUser"];
        put?: never;
        post?: never;
        /**
         * Removes a user: ends its sign-ins, revokes its tokens and removes its memberships. For operators.
         * @description Its sessions are kept, for operators to inspect and delete (`GET /v1/sessions?owner=NAME`). While any
         *     exist, a new user of the same name must be created with `take_over`.
         */
        delete: operations["deleteUser"];
        options?: never;
        head?: never;
        /**
         * Changes a user. Operators may change everything, others their own password.
         * @description A new password, or disabling the user, ends all its sign-ins and closes their streams.
         */
        patch: operations["updateUser"];
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description An answer to a question. */
        Answer: {
            /** @description The question. */
            id: string;
            /** @description The answer. */
            answer: string;
        };
        /**
         * @description The answers of a person to questions of the agent.
         * @example {
         *       "answers": [
         *         {
         *           "answer": "green",
         *           "id": "color"
         *         }
         *       ]
         *     }
         */
        AnswersRequest: {
            /** @description One answer for each question. */
            answers: components["schemas"]["Answer"][];
        };
        /** @description A person's consent to one command. */
        Approval: {
            /** @description Unique in the conversation. */
            approval_id: string;
            /** @description What the person reads: the exact command, why they are asked, and the marked words of the agent. */
            text: string;
            /** @description What would be allowed from now on, if the agent proposes a rule. */
            rule_text?: string | null;
            /** @description The proposed rule as the tools know it, by which later commands of the conversation are allowed. */
            rule?: unknown;
            /** @description The fingerprint of what is allowed: a consent holds for nothing else. */
            fingerprint: string;
            decision?: components["schemas"]["ApprovalDecision"] | null;
            /** @description Why the person decided so. */
            reason?: string | null;
            /** @description Who decided. */
            decided_by?: string | null;
        };
        /**
         * @description What a person decided.
         * @enum {string}
         */
        ApprovalDecision: "allow_once" | "allow_conversation" | "deny";
        /**
         * @description When a person is asked before a command of the agent runs.
         * @enum {string}
         */
        ApprovalPolicyName: "never" | "on-failure" | "on-request" | "unless-trusted";
        /**
         * @description The answer of a person to a request for consent.
         * @example {
         *       "decision": "deny",
         *       "reason": "not on this machine"
         *     }
         */
        ApprovalRequest: {
            /** @description The decision. */
            decision: components["schemas"]["ApprovalDecision"];
            /** @description Why; the agent reads it. */
            reason?: string | null;
        };
        /** @description A file of the workspace. */
        Attachment: {
            /** @description The name that the person gave it. */
            name: string;
            /** @description Its path in the workspace. */
            path: string;
            /** @description For example `image/png`. */
            media_type: string;
            /**
             * Format: int64
             * @description Its length.
             */
            size_bytes: number;
        };
        /** @description One recorded action, whether it was allowed or denied. */
        AuditRow: {
            /** @description When it happened. */
            at: components["schemas"]["Timestamp"];
            /** @description The user; empty if unknown. */
            owner: string;
            /** @description The id of the token that was used. */
            token_id: string;
            /** @description The action, such as `execution.start`. */
            action: string;
            /** @description The object that it was applied to, or the requested path. */
            object: string;
            /** @description The address of the client. */
            address: string;
            /** @description Details for people. */
            detail: string;
            /** @description `ok` or `denied`. */
            result: string;
        };
        /** @description A page of a list. */
        AuditRowPage: {
            /** @description The items of this page. */
            items: components["schemas"]["AuditRow"][];
            /** @description The cursor of the next page (`cursor=`); absent on the last page. */
            next_cursor?: string | null;
        };
        /**
         * @description A program to run.
         * @example {
         *       "args": [
         *         "--help"
         *       ],
         *       "binary_path": "/workspace/build/main",
         *       "session_id": "demo"
         *     }
         */
        BinaryRequest: {
            /** @description The session's id or name. */
            session_id: string;
            /** @description The program's path in the workspace. */
            binary_path: string;
            /** @description The program's arguments. */
            args?: string[];
        };
        /** @description The current branch. */
        Branch: {
            /** @description Its last message. */
            leaf_id: components["schemas"]["MessageId"];
        };
        /**
         * @description A build and its result.
         * @example {
         *       "artifacts": [
         *         "/workspace/build/main"
         *       ],
         *       "build_id": "bld_0123456789abcdef0123456789abcdef",
         *       "cached": false,
         *       "cached_objects": 0,
         *       "created_at": "2026-01-02T03:04:05.678Z",
         *       "diagnostics": [],
         *       "duration_ms": 840,
         *       "execution_id": "exe_0123456789abcdef0123456789abcdef",
         *       "kind": "cpp",
         *       "session_id": "ses_0123456789abcdef0123456789abcdef",
         *       "status": "success",
         *       "stderr": "",
         *       "stdout": "",
         *       "truncated": false
         *     }
         */
        Build: {
            /** @description Use it with the routes below `/v1/builds`. */
            build_id: string;
            /** @description The session whose workspace it is for. */
            session_id: string;
            /** @description `cpp`, `c`, `cmake`, `make` or `language`. */
            kind: string;
            /** @description The status of the build. */
            status: components["schemas"]["BuildStatus"];
            /** @description `Compiled successfully`, or the output in the session. */
            stdout: string;
            /** @description The output of the compilers and the linker. */
            stderr: string;
            /**
             * @description Whether `stdout`, `stderr` or `diagnostics` is incomplete; the execution `execution_id` has the whole
             *     output.
             */
            truncated: boolean;
            /**
             * @description The paths of the files that the build created. For `cmake` and `make`: the programs and shared libraries in the
             *     build folder, or in the folder of the makefile, at most 100.
             */
            artifacts: string[];
            /** @description The messages of the compilers. */
            diagnostics: components["schemas"]["Diagnostic"][];
            /** @description Whether nothing had to be compiled or linked. */
            cached: boolean;
            /**
             * Format: int32
             * @description The number of sources that were taken from the cache.
             */
            cached_objects: number;
            /**
             * @description The execution that runs the build, which can be followed and cancelled like any other. None if
             *     everything was cached.
             */
            execution_id?: string | null;
            /**
             * Format: int64
             * @description The time from the request to the end.
             */
            duration_ms?: number | null;
            /** @description When the build was requested. */
            created_at: components["schemas"]["Timestamp"];
        };
        /**
         * @description What kind of build it is.
         * @enum {string}
         */
        BuildKind: "cpp" | "c" | "cmake" | "make" | "language";
        /** @description A page of a list. */
        BuildPage: {
            /** @description The items of this page. */
            items: components["schemas"]["Build"][];
            /** @description The cursor of the next page (`cursor=`); absent on the last page. */
            next_cursor?: string | null;
        };
        /**
         * @description A request to build.
         * @example {
         *       "build_type": "Release",
         *       "kind": "cmake",
         *       "source_dir": "/"
         *     }
         */
        BuildRequest: {
            /** @description What kind of build it is. */
            kind: components["schemas"]["BuildKind"];
            /** @description `cpp`, `c`, `language`: the sources. */
            source_files?: string[];
            /** @description `cpp`, `c`, `language`: the path of the binary in the workspace. */
            output_binary?: string | null;
            /** @description `cpp`, `c`: a compiler that the operator allows. */
            compiler?: string | null;
            /** @description `cpp`, `c`, `language`: flags for the compiler. */
            flags?: string[];
            /** @description `cpp`, `c`: sanitizers. */
            sanitize?: string[];
            /** @description `language`: the name of the language. */
            language?: string | null;
            /** @description `cmake`, `make`: the folder of the project; the workspace if absent. */
            source_dir?: string | null;
            /**
             * @description `cmake`: the build folder. If absent it is `/workspace/build` (`SESSION_BUILD_PATH`) for a project in the
             *     workspace itself, and a folder in it for each other `source_dir`.
             */
            build_dir?: string | null;
            /** @description `cmake`: a configure preset. */
            preset?: string | null;
            /** @description `cmake`: `Debug`, `Release` and so on. */
            build_type?: string | null;
            /** @description `cmake`, `make`: the target to build. */
            target?: string | null;
            /** @description `cmake`, `make`: additional arguments. */
            args?: string[];
            /**
             * Format: int64
             * @description The build is ended after this number of milliseconds.
             */
            timeout_ms?: number | null;
        };
        /**
         * @description The state of a build.
         * @enum {string}
         */
        BuildStatus: "running" | "success" | "failed" | "cancelled" | "timed_out" | "lost";
        /** @description The caller. */
        Caller: {
            /** @description The owner of everything that is created with this credential. */
            owner: string;
            /**
             * @description The role of a user or token.
             * @enum {string}
             */
            role: "admin" | "member" | "reader";
            /** @description The kind of credential: `token`, `cookie`, `link`, `sign_in` or `jwt`. */
            credential: string;
            /** @description What identifies the credential in the audit log. */
            credential_id: string;
            /** @description The sessions that it is restricted to; absent: all. */
            sessions?: string[] | null;
            /** @description The conversation that it is restricted to; absent: all. */
            conversation?: string | null;
            /** @description The scopes that it is restricted to; absent: everything that its role allows. */
            scopes?: string[] | null;
            user?: components["schemas"]["User"] | null;
        };
        /**
         * @description Options for cancelling.
         * @example {
         *       "grace_ms": 1000
         *     }
         */
        CancelRequest: {
            /**
             * Format: int64
             * @description The time between SIGTERM and SIGKILL; 0 kills immediately. If absent, the execution's own grace
             *     period.
             */
            grace_ms?: number | null;
        };
        /**
         * @description What happens to child processes that outlive the program.
         * @enum {string}
         */
        Children: "keep" | "kill";
        /**
         * @description A change of permissions.
         * @example {
         *       "mode": "755",
         *       "path": "run.sh"
         *     }
         */
        ChmodRequest: {
            /** @description A path in the workspace. */
            path: string;
            /** @description The new permissions in octal digits, `000` to `777`. */
            mode: string;
            encoding?: components["schemas"]["PathEncoding"] | null;
        };
        /** @description An event for a tool card. */
        CodeExecutionOutputEvent: {
            /**
             * @description `TOOL_CALL_START`, `CODE_EXECUTION_OUTPUT` or `TOOL_RESULT`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "CODE_EXECUTION_OUTPUT";
            /** @description The conversation, if the call belongs to one. */
            thread_id?: string | null;
            /** @description When it happened. */
            timestamp: components["schemas"]["Timestamp"];
            /** @description Output of a call. */
            payload: {
                /** @description Always `CODE_EXECUTION_OUTPUT`. */
                type: string;
                /** @description The `id` of the `TOOL_CALL_START` that this output belongs to. */
                tool_call_id: string;
                /** @description The conversation, if it belongs to one. */
                thread_id?: string | null;
                /** @description The source of the text. */
                source: components["schemas"]["ToolOutputSource"];
                /** @description The text, if the source is `stdout`. */
                stdout?: string | null;
                /** @description The text, for any other source. */
                stderr?: string | null;
                /** @description The same text, if the source is `error`. */
                error?: string | null;
                /** @description When it was printed. */
                timestamp: components["schemas"]["Timestamp"];
                /** @description The execution, for its routes. */
                execution_id?: string | null;
            };
        };
        /**
         * @description A call of `code_execution`.
         * @example {
         *       "code": "print('Hello')",
         *       "runtime": "python",
         *       "timeout": 10
         *     }
         */
        CodeExecutionRequest: {
            /** @description `terminal` (bash), `python` or `nodejs`. */
            runtime: string;
            /** @description The source code. */
            code: string;
            /**
             * Format: double
             * @description The timeout in seconds: 60 if absent, at most 86400. After it the program gets SIGTERM, and SIGKILL 5
             *     s later.
             */
            timeout?: number | null;
            /** @description The working directory, relative to the workspace, which is the default. */
            cwd?: string | null;
            /**
             * @deprecated
             * @description Deprecated: use `cwd`.
             */
            working_dir?: string | null;
            /** @description The path in the workspace at which the code is saved before it runs. */
            save_to_file?: string | null;
            /**
             * @description Calls with the same id share a session: files and installed packages are kept, variables and imports are
             *     not, because every call is a new process.
             */
            interactive_id?: string | null;
            /** @description The standard input; empty if absent. */
            stdin?: string | null;
            /** @description The caller's id for this call, which is in all its events. The execution's id if absent. */
            tool_call_id?: string | null;
            /** @description The conversation whose streams show the call. */
            conversation_id?: string | null;
            /** @description Another name for `conversation_id`. */
            thread_id?: string | null;
            /** @description The session that it runs in: its id, its name or a unique prefix of its id. */
            session_id?: string | null;
        };
        /** @description The command, in one of three forms. */
        Command: {
            /** @description A program and its arguments, searched in `PATH`. */
            argv: string[];
        } | {
            /** @description A shell command line. */
            shell: string;
        } | {
            code: components["schemas"]["CommandCode"];
        };
        /** @description Source code in a language of the registry. */
        CommandCode: {
            /** @description The name of the language. */
            language: string;
            /** @description The source code. */
            code: string;
            /** @description A path in the workspace where the code is saved before it runs, and kept. */
            file?: string | null;
            /** @description Arguments for the code. */
            args?: string[];
        };
        /** @description How one source is compiled: an entry of a compilation database. */
        CompileCommand: {
            /** @description The working directory of the compiler. */
            directory: string;
            /** @description The path of the source. */
            file: string;
            /** @description The compiler and its arguments. */
            arguments: string[];
        };
        /** @description A conversation with an agent. */
        Conversation: {
            /** @description Its id. */
            id: components["schemas"]["ConversationId"];
            /** @description The title, if it has one. */
            title?: string | null;
            /** @description The owner. */
            owner: string;
            /** @description The session that the agent works in, once there is one. */
            session_id?: string | null;
            /** @description The model, by its name in the configuration; the default one if absent. */
            model?: string | null;
            /** @description When a person is asked. */
            approval_policy: components["schemas"]["ApprovalPolicyName"];
            /** @description What the agent may do. */
            mode: components["schemas"]["ConversationMode"];
            /** @description What is added to the instructions of the agent. */
            instructions?: string | null;
            parent_id?: components["schemas"]["ConversationId"] | null;
            /** @description Whether it is put aside. */
            is_archived: boolean;
            /** @description Whether the end of a command that runs on in the background begins a turn. */
            wakes: boolean;
            /** @description Whether the model's provider may search the web for it. */
            web_search?: boolean;
            /** @description The MCP servers that were added to it, by name. Those of the server's configuration are not listed. */
            mcp_servers?: {
                [key: string]: components["schemas"]["McpServer"];
            };
            /** @description Whether a turn runs. */
            is_running: boolean;
            /** @description Whether a person is asked. */
            is_waiting: boolean;
            /** @description When it was created. */
            created_at: components["schemas"]["Timestamp"];
            /** @description When somebody last wrote, or was asked something. */
            last_activity_at: components["schemas"]["Timestamp"];
            /** @description The beginning of the last message. */
            excerpt?: string | null;
        };
        /** @description A conversation with its messages. */
        ConversationDetail: components["schemas"]["Conversation"] & {
            /**
             * Format: int64
             * @description The number of the last event of its log: `GET .../log?after=` continues here.
             */
            last_seq: number;
            leaf_id?: components["schemas"]["MessageId"] | null;
            /** @description The messages of all branches, in the order in which they were added. */
            messages: components["schemas"]["Message"][];
            turn?: components["schemas"]["Turn"] | null;
            /** @description The plan of the agent. */
            plan: components["schemas"]["PlanStep"][];
            /** @description Messages that wait for the agent. */
            queue: components["schemas"]["QueuedMessage"][];
        };
        /**
         * @description The id of a conversation: `cnv_` and 32 hexadecimal digits, or what its creator chose.
         * @example cnv_0123456789abcdef0123456789abcdef
         */
        ConversationId: string;
        /**
         * @description What the agent may do.
         * @enum {string}
         */
        ConversationMode: "default" | "plan";
        /** @description A page of a list. */
        ConversationPage: {
            /** @description The items of this page. */
            items: components["schemas"]["Conversation"][];
            /** @description The cursor of the next page (`cursor=`); absent on the last page. */
            next_cursor?: string | null;
        };
        /**
         * @description A change of a conversation. Absent fields keep their values.
         * @example {
         *       "title": "Fix the build"
         *     }
         */
        ConversationPatch: {
            /** @description Another title. */
            title?: string | null;
            /** @description Whether it is put aside. */
            is_archived?: boolean | null;
            /** @description Another model; an empty text selects the default one. */
            model?: string | null;
            approval_policy?: components["schemas"]["ApprovalPolicyName"] | null;
            mode?: components["schemas"]["ConversationMode"] | null;
            /** @description Another session: its id or its name. */
            session_id?: string | null;
            /** @description Other instructions; an empty text removes them. */
            instructions?: string | null;
            /** @description Whether the end of a command that runs on in the background begins a turn. */
            wakes?: boolean | null;
            /** @description Whether the model's provider may search the web for it. */
            web_search?: boolean | null;
            /** @description MCP servers that are added or replaced, by name; `null` removes one. Others stay. */
            mcp_servers?: {
                [key: string]: components["schemas"]["McpServerRequest"];
            };
        };
        /**
         * @description A request for a conversation.
         * @example {
         *       "model": "local",
         *       "title": "Fix the build"
         *     }
         */
        ConversationRequest: {
            id?: components["schemas"]["ConversationId"] | null;
            /** @description The title; the first message gives one if it is absent. */
            title?: string | null;
            /** @description The session that the agent works in: its id or its name. If absent, the first call of a tool creates one. */
            session_id?: string | null;
            /** @description The model, by its name in the configuration; the default one if absent. */
            model?: string | null;
            approval_policy?: components["schemas"]["ApprovalPolicyName"] | null;
            mode?: components["schemas"]["ConversationMode"] | null;
            /** @description What is added to the instructions of the agent. */
            instructions?: string | null;
            /** @description Whether the end of a command that runs on in the background begins a turn. */
            wakes?: boolean | null;
            /** @description Whether the model's provider may search the web for it: not if absent. */
            web_search?: boolean | null;
            /** @description More MCP servers for the agent, by name. */
            mcp_servers?: {
                [key: string]: components["schemas"]["McpServerRequest"];
            };
        };
        /** @description A link to a conversation. */
        ConversationShare: {
            /** @description `shr_` and 32 hexadecimal digits. */
            id: string;
            /** @description The conversation that the link opens. */
            conversation_id: string;
            /**
             * @description The access that a link gives.
             * @enum {string}
             */
            access: "read" | "write";
            /** @description The user who created the link. */
            made_by: string;
            created_at: components["schemas"]["Timestamp"];
            expires_at: components["schemas"]["Timestamp"];
            revoked_at?: components["schemas"]["Timestamp"] | null;
            /**
             * @description The secret that opens the conversation, for `Authorization: Bearer` or `?token=`; returned only when the link is
             *     created.
             */
            token?: string | null;
        };
        /** @description All links to a conversation. */
        ConversationShareList: {
            /** @description Oldest first. */
            items: components["schemas"]["ConversationShare"][];
        };
        /** @description The result of a copy. */
        CopiedFile: {
            /** @description The entry at the new path. */
            file: components["schemas"]["File"];
            /**
             * Format: int64
             * @description The total size of all files in it.
             */
            bytes: number;
            /**
             * Format: int64
             * @description The number of files, folders and links.
             */
            files: number;
            /**
             * Format: int64
             * @description The number of entries that were not copied: FIFOs, sockets, devices, and entries that vanished
             *     meanwhile.
             */
            skipped: number;
        };
        /**
         * @description C++ files to compile into one binary.
         * @example {
         *       "compiler": "g++",
         *       "flags": [
         *         "-std=c++17",
         *         "-O2",
         *         "-Wall"
         *       ],
         *       "output_binary": "/workspace/build/main",
         *       "session_id": "demo",
         *       "source_files": [
         *         "/src/main.cpp"
         *       ]
         *     }
         */
        CppRequest: {
            /** @description The session's id or name. */
            session_id: string;
            /** @description Paths in the workspace: `/src/main.cpp`, `/workspace/src/main.cpp` and `src/main.cpp` are the same file. */
            source_files: string[];
            /** @description The path of the binary in the workspace. */
            output_binary: string;
            /** @description A compiler that the operator allows, such as `g++` or `clang++`; the operator's default if absent. */
            compiler?: string | null;
            /** @description Flags for the compiler and the linker. */
            flags?: string[];
            /** @description Sanitizers: `address`, `undefined`, `thread`, `leak`. */
            sanitize?: string[];
            /**
             * Format: int64
             * @description The build's timeout, at most what the operator allows.
             */
            timeout_ms?: number | null;
            /** @description The conversation whose streams show the build, unless everything is cached. */
            conversation_id?: string | null;
            /** @description The caller's id for the call, which is in all events of its execution. The execution's id if absent. */
            tool_call_id?: string | null;
            /** @description Whether to respond only when the build has ended. */
            wait?: boolean;
        };
        /**
         * @description When a message that arrives during a turn reaches the agent.
         * @enum {string}
         */
        Delivery: "steer" | "queue";
        /** @description A message of a compiler. */
        Diagnostic: components["schemas"]["SourceRange"] & {
            /** @description Whether it stops the build. */
            severity: components["schemas"]["Severity"];
            /** @description The text, without position, severity and option. */
            message: string;
            /** @description The option that enables it, such as `-Wunused-variable`. */
            option?: string | null;
            /** @description Changes that would fix the problem. */
            fixes: components["schemas"]["DiagnosticFix"][];
            /** @description Notes that explain it. */
            notes: components["schemas"]["DiagnosticNote"][];
        };
        /** @description A change that would fix the problem. */
        DiagnosticFix: {
            /** @description The range to replace; empty for an insertion. */
            range: components["schemas"]["SourceRange"];
            /** @description The replacement. */
            text: string;
        };
        /** @description A note that explains a diagnostic. */
        DiagnosticNote: components["schemas"]["SourceRange"] & {
            /** @description The text of the note, without position. */
            message: string;
            /** @description Changes that would fix the problem. */
            fixes?: components["schemas"]["DiagnosticFix"][];
        };
        /** @description The entries of a folder; written by `Listing`. */
        DirectoryListing: {
            /** @description The path as requested. */
            directory: string;
            /** @description The entries, in order of their names. */
            files: components["schemas"]["ListedFile"][];
            /** @description Whether there are more entries. */
            truncated: boolean;
        };
        /** @description Disk use by kind. */
        DiskUse: {
            /**
             * Format: int64
             * @description Bytes of all workspaces, when last measured.
             */
            workspaces_bytes: number;
            /**
             * Format: int64
             * @description Bytes of all snapshots, when last measured.
             */
            snapshots_bytes: number;
            /**
             * Format: int64
             * @description Allocated bytes of the logs of all executions, including ended one-shots.
             */
            logs_bytes: number;
            /**
             * Format: int64
             * @description The number of logs of ended executions.
             */
            logs: number;
            /**
             * Format: int64
             * @description All bytes together, which count towards the quota.
             */
            total_bytes: number;
        };
        /** @description The result of one check of the host. */
        DoctorCheck: {
            /** @description The name of the check. */
            name: string;
            /** @description Whether code can be run safely as far as this check goes. */
            ok: boolean;
            /** @description `ok`, `warning` (there is a substitute for what is missing) or `failed`. */
            status: string;
            /** @description What was found, and what is used instead if something is missing. */
            detail: string;
            /** @description The command or setting that fixes it, if there is something to fix. */
            fix?: string | null;
        };
        /** @description What the host can isolate and limit. */
        DoctorReport: {
            /** @description Whether code can be run safely: no check failed. */
            ok: boolean;
            /** @description The checks, the most basic ones first. */
            checks: components["schemas"]["DoctorCheck"][];
        };
        /**
         * @description The body of every answer with an error status.
         * @example {
         *       "error": {
         *         "code": "not_found",
         *         "hint": "`GET /v1/sessions` lists the existing ones",
         *         "message": "there is no session `ses_...`",
         *         "request_id": "req_0123456789abcdef"
         *       }
         *     }
         */
        Error: {
            /** @description What went wrong, and what to do. */
            error: components["schemas"]["ErrorDetail"];
        };
        /** @description An error: a code for programs, a message and a hint for people. */
        ErrorDetail: {
            /** @description The code, for programs. `docs/api.md` lists all codes; later versions may add some. */
            code: string;
            /** @description What is wrong, for people. */
            message: string;
            /** @description What to do about it, for people. */
            hint: string;
            /** @description The id of the request, as in the header `X-Request-Id` and in the server's log. */
            request_id: string;
        };
        /** @description An event of an execution's log. `seq` is the resume token, `at_ms` counts from the start. */
        Event: {
            /**
             * Format: int64
             * @description The number of the event.
             */
            seq: number;
            /**
             * Format: int64
             * @description Milliseconds since the start.
             */
            at_ms: number;
            /** @description The execution that this log belongs to. */
            execution_id: components["schemas"]["ExecutionId"];
            /**
             * Format: int32
             * @description The program's process id inside its session.
             */
            pid: number;
            /** @enum {string} */
            type: "started";
        } | {
            /**
             * Format: int64
             * @description The number of the last chunk in this event.
             */
            seq: number;
            /**
             * Format: int64
             * @description Milliseconds since the start.
             */
            at_ms: number;
            /**
             * Format: int64
             * @description The position of the first byte in the stream.
             */
            offset: number;
            /** @description The bytes, if they are text. */
            text?: string | null;
            /** @description The bytes in base64, if they are not text. */
            base64?: string | null;
            /** @enum {string} */
            type: "stdout";
        } | {
            /**
             * Format: int64
             * @description The number of the last chunk in this event.
             */
            seq: number;
            /**
             * Format: int64
             * @description Milliseconds since the start.
             */
            at_ms: number;
            /**
             * Format: int64
             * @description The position of the first byte in the stream.
             */
            offset: number;
            /** @description The bytes, if they are text. */
            text?: string | null;
            /** @description The bytes in base64, if they are not text. */
            base64?: string | null;
            /** @enum {string} */
            type: "stderr";
        } | {
            /**
             * Format: int64
             * @description The number of the last chunk in this event.
             */
            seq: number;
            /**
             * Format: int64
             * @description Milliseconds since the start.
             */
            at_ms: number;
            /**
             * Format: int64
             * @description The position of the first byte in the stream.
             */
            offset: number;
            /** @description The bytes, if they are text. */
            text?: string | null;
            /** @description The bytes in base64, if they are not text. */
            base64?: string | null;
            /** @enum {string} */
            type: "output";
        } | {
            /**
             * Format: int64
             * @description The number of the event.
             */
            seq: number;
            /**
             * Format: int64
             * @description Milliseconds since the start.
             */
            at_ms: number;
            /** @description The stream that the bytes belong to. */
            stream: components["schemas"]["OutputStream"];
            /**
             * Format: int64
             * @description The first missing byte.
             */
            from_byte: number;
            /**
             * Format: int64
             * @description The first byte after the gap.
             */
            to_byte: number;
            /** @enum {string} */
            type: "gap";
        } | {
            /**
             * Format: int64
             * @description The number of the event.
             */
            seq: number;
            /**
             * Format: int64
             * @description Milliseconds since the start.
             */
            at_ms: number;
            /** @description The reason. */
            reason: components["schemas"]["ExitReason"];
            /**
             * Format: int32
             * @description The exit code, unless a signal ended the program.
             */
            code?: number | null;
            /**
             * Format: int32
             * @description The signal that ended the program.
             */
            signal?: number | null;
            /** @description Details for people: what was missing, or which limit was reached. */
            message?: string | null;
            detail?: components["schemas"]["ExitDetail"] | null;
            /**
             * Format: int64
             * @description The time from start to exit.
             */
            duration_ms: number;
            /** @description CPU time and peak memory. */
            usage: components["schemas"]["Usage"];
            /**
             * Format: int64
             * @description Bytes written to standard output when the program exited, kept or not.
             */
            stdout_bytes: number;
            /**
             * Format: int64
             * @description Bytes written to standard error; 0 if the streams are merged.
             */
            stderr_bytes: number;
            /**
             * Format: int64
             * @description Bytes written to a terminal or to merged output; 0 if the streams are separate.
             */
            output_bytes: number;
            /** @enum {string} */
            type: "exited";
        } | {
            /**
             * Format: int64
             * @description The number of the event.
             */
            seq: number;
            /**
             * Format: int64
             * @description Milliseconds since the start.
             */
            at_ms: number;
            /** @enum {string} */
            type: "closed";
        };
        /**
         * @description Code to run.
         * @example {
         *       "code": "print('Hello')",
         *       "file_path": "/src/main.py",
         *       "session_id": "demo"
         *     }
         */
        ExecuteRequest: {
            /** @description The session's id or name. */
            session_id: string;
            /** @description The language of the path, if repeated. */
            language?: string | null;
            /** @description The source text. */
            code: string;
            /** @description The path in the workspace at which the code is saved before it runs. */
            file_path?: string | null;
            /** @description The program's arguments. */
            args?: string[];
        };
        /**
         * @description One run of a program in a session.
         * @example {
         *       "command": {
         *         "code": {
         *           "args": [],
         *           "code": "print('Hello')",
         *           "language": "python"
         *         }
         *       },
         *       "duration_ms": 22,
         *       "exit": {
         *         "code": 0,
         *         "reason": "exited"
         *       },
         *       "exited_at": "2026-01-02T03:04:05.700Z",
         *       "id": "exe_0123456789abcdef0123456789abcdef",
         *       "language": "python",
         *       "last_seq": 4,
         *       "metadata": {},
         *       "output_bytes": 0,
         *       "owner": "ann",
         *       "pid": null,
         *       "session_id": "ses_0123456789abcdef0123456789abcdef",
         *       "started_at": "2026-01-02T03:04:05.678Z",
         *       "state": "closed",
         *       "stderr_bytes": 0,
         *       "stdout_bytes": 6,
         *       "tty": null,
         *       "usage": {
         *         "cpu_ms": 15,
         *         "max_rss_bytes": 9437184
         *       }
         *     }
         */
        Execution: {
            /** @description The id: `exe_` and 32 hexadecimal digits. */
            id: components["schemas"]["ExecutionId"];
            /** @description The session that it runs in. */
            session_id: components["schemas"]["SessionId"];
            /** @description The user that its session belongs to. */
            owner?: string;
            /** @description The current state. */
            state: components["schemas"]["ExecutionStateName"];
            /**
             * Format: int32
             * @description The program's process id inside its session, while it runs.
             */
            pid?: number | null;
            /** @description When it was accepted. */
            started_at: components["schemas"]["Timestamp"];
            exited_at?: components["schemas"]["Timestamp"] | null;
            exit?: components["schemas"]["Exit"] | null;
            /**
             * Format: int64
             * @description The time from start to exit.
             */
            duration_ms?: number | null;
            usage?: components["schemas"]["Usage"] | null;
            /**
             * Format: int64
             * @description Bytes written to standard output so far, kept or not.
             */
            stdout_bytes: number;
            /**
             * Format: int64
             * @description Bytes written to standard error so far; 0 if the streams are merged.
             */
            stderr_bytes: number;
            /**
             * Format: int64
             * @description Bytes written to a terminal or to merged output so far; 0 if the streams are separate.
             */
            output_bytes: number;
            /**
             * Format: int64
             * @description The newest event of the log.
             */
            last_seq: number;
            log_removed?: components["schemas"]["LogRemoved"] | null;
            /** @description The command that runs. */
            command: components["schemas"]["Command"];
            /** @description The language, if the command is code. */
            language?: string | null;
            tty?: components["schemas"]["TtySize"] | null;
            /** @description Metadata that the client set. */
            metadata: {
                [key: string]: string;
            };
        };
        /** @description The results of a message. */
        ExecutionHistory: {
            /** @description The message, by the client's id. */
            message_uuid: string;
            /** @description Its results, oldest first; empty if none was saved. */
            execution_results: components["schemas"]["ExecutionResult"][];
        };
        /**
         * @description The id of an execution: `exe_` and 32 hexadecimal digits.
         * @example exe_0123456789abcdef0123456789abcdef
         */
        ExecutionId: string;
        /** @description A line of output of an execution in a chat. */
        ExecutionOutputLine: {
            /** @description The kind of line. */
            type: components["schemas"]["ExecutionOutputType"];
            /** @description The text. */
            content: string;
            /** @description When it was printed. */
            timestamp: components["schemas"]["LineTime"];
            /** @description An id that no other line of the result has. */
            id: string;
        };
        /**
         * @description The kind of a line of output.
         * @enum {string}
         */
        ExecutionOutputType: "log" | "info" | "warn" | "error" | "return" | "stdout";
        /** @description A page of a list. */
        ExecutionPage: {
            /** @description The items of this page. */
            items: components["schemas"]["Execution"][];
            /** @description The cursor of the next page (`cursor=`); absent on the last page. */
            next_cursor?: string | null;
        };
        /** @description A result of an execution that a chat's client ran. */
        ExecutionResult: {
            /** @description The artifact that was run, by the client's id. */
            artifact_uuid: string;
            /** @description The client's id of the execution. */
            execution_id: string;
            /** @description When it was run. */
            timestamp: components["schemas"]["Timestamp"];
            /** @description The language. */
            language: string;
            /** @description What it printed. */
            output: components["schemas"]["ExecutionOutputLine"][];
            /**
             * Format: double
             * @description How long it took, in milliseconds.
             */
            execution_time_ms: number;
            /** @description How it ended. */
            status: components["schemas"]["ExecutionResultStatus"];
        };
        /**
         * @description How an execution in a chat ended.
         * @enum {string}
         */
        ExecutionResultStatus: "success" | "error" | "timeout";
        /**
         * @description The state of an execution.
         * @enum {string}
         */
        ExecutionStateName: "queued" | "running" | "exited" | "closed";
        /** @description The status of an execution, with its output as text. */
        ExecutionStatus: {
            /** @description Use it with the routes below `/v1/executions`. */
            execution_id: string;
            /** @description The execution's status. */
            status: components["schemas"]["ExecutionStatusName"];
            /** @description The last 1 MiB of its standard output, or of its terminal. */
            stdout?: string | null;
            /** @description The last 1 MiB of its standard error. */
            stderr?: string | null;
            /** @description Whether `stdout` or `stderr` is incomplete; `output_url` has all output that is kept. */
            truncated: boolean;
            /**
             * Format: int64
             * @description The number of bytes printed to standard output, or to the terminal.
             */
            stdout_bytes: number;
            /**
             * Format: int64
             * @description The number of bytes printed to standard error.
             */
            stderr_bytes: number;
            /**
             * @description The URL of all output that is kept, as raw bytes; `?stream=stdout` or `?stream=stderr` selects one
             *     stream.
             */
            output_url: string;
            /**
             * Format: int32
             * @description The exit code, or 128 plus the number of the signal that ended the program.
             */
            exit_code?: number | null;
            /**
             * Format: int64
             * @description The time from start to end.
             */
            execution_time_ms?: number | null;
            /** @description Why it ended, unless the program exited by itself. */
            message?: string | null;
        };
        /**
         * @description The status of an execution.
         * @enum {string}
         */
        ExecutionStatusName: "queued" | "running" | "completed" | "failed";
        /** @description How an execution ended. */
        Exit: {
            /** @description Why it ended. */
            reason: components["schemas"]["ExitReason"];
            /**
             * Format: int32
             * @description The exit code, unless a signal ended the program.
             */
            code?: number | null;
            /**
             * Format: int32
             * @description The signal that ended the program.
             */
            signal?: number | null;
            /** @description Details for people: what was missing, or which limit was reached. */
            message?: string | null;
            detail?: components["schemas"]["ExitDetail"] | null;
        };
        /** @description What is known of an execution's end beyond its reason. Later versions may add kinds. */
        ExitDetail: {
            /** @description The command as given; at most 4096 bytes of it. */
            name: string;
            /** @enum {string} */
            kind: "command_not_found";
        } | {
            /** @description The program; at most 4096 bytes of its name. */
            name: string;
            /** @enum {string} */
            kind: "interpreter_not_found";
        } | {
            /** @description The program; at most 4096 bytes of its name. */
            name: string;
            /** @enum {string} */
            kind: "not_executable";
        } | {
            /** @description Its path; at most 4096 bytes of it. */
            path: string;
            /** @enum {string} */
            kind: "bad_working_directory";
        } | {
            /** @enum {string} */
            kind: "arguments_too_long";
        } | {
            /** @enum {string} */
            kind: "no_resources";
        } | {
            /**
             * Format: int64
             * @description The timeout of the execution, in milliseconds.
             */
            after_ms: number;
            /** @enum {string} */
            kind: "timed_out";
        } | {
            /** @description The limit that was reached. */
            which: components["schemas"]["LimitKind"];
            /**
             * Format: int64
             * @description Its value, in the unit of its name.
             */
            limit: number;
            /** @enum {string} */
            kind: "limit";
        } | {
            /** @enum {string} */
            kind: "session_ended";
        } | {
            /** @enum {string} */
            kind: "session_hibernated";
        } | {
            /** @enum {string} */
            kind: "other";
        };
        /**
         * @description Why an execution ended.
         * @enum {string}
         */
        ExitReason: "exited" | "signalled" | "timed_out" | "cancelled" | "oom" | "output_limit" | "disk_limit" | "setup_failed" | "lost";
        /**
         * @description A file, a folder or a link in a workspace.
         * @example {
         *       "etag": "\"1a2b3c\"",
         *       "mode": "644",
         *       "modified_at": "2026-01-02T03:04:05.678Z",
         *       "name": "main.py",
         *       "path": "src/main.py",
         *       "size": 15,
         *       "type": "file"
         *     }
         */
        File: {
            /** @description The path below the workspace, without a leading slash; empty for the workspace itself. */
            path: string;
            /** @description The last component of the path. */
            name: string;
            encoding?: components["schemas"]["PathEncoding"] | null;
            /** @description The type. */
            type: components["schemas"]["FileType"];
            /**
             * Format: int64
             * @description The size of a file, or the length of a link's target; 0 for other types.
             */
            size: number;
            /** @description The permissions in octal digits, such as `644`. */
            mode: string;
            /** @description When the content was last modified. */
            modified_at: components["schemas"]["Timestamp"];
            /** @description A tag of this state of the file. It changes when the file changes. */
            etag: string;
            /** @description The target of a link, if it is text. */
            target?: string | null;
        };
        /** @description A change that a watch reports. */
        FileChange: {
            /** @description The type of the change. */
            type: components["schemas"]["FileChangeType"];
            /** @description The path below the workspace. */
            path: string;
            encoding?: components["schemas"]["PathEncoding"] | null;
            /** @description The type of the file. */
            kind: components["schemas"]["FileType"];
            /** @description The previous path, if it was moved. */
            from?: string | null;
            from_encoding?: components["schemas"]["PathEncoding"] | null;
        };
        /**
         * @description The type of a change that a watch reports.
         * @enum {string}
         */
        FileChangeType: "ready" | "created" | "modified" | "removed" | "moved" | "overflow" | "limit" | "rescan" | "ended";
        /** @description What differs between two states of a workspace. */
        FileDiff: {
            /** @description All differences, or the first of them. */
            items: components["schemas"]["FileDifference"][];
            /** @description Whether there are more. */
            truncated: boolean;
        };
        /** @description An entry that differs between two states of a workspace. */
        FileDifference: {
            /** @description The type of the difference. */
            type: components["schemas"]["FileDifferenceType"];
            /** @description The path below the workspace. */
            path: string;
            encoding?: components["schemas"]["PathEncoding"] | null;
            /** @description The type of the file, now or before. */
            kind: components["schemas"]["FileType"];
            /**
             * Format: int64
             * @description The size of the file, now or before.
             */
            size: number;
            /** @description A unified diff, if it was requested and both texts are available and short enough. */
            patch?: string | null;
            /** @description Whether `patch` is missing because the text, or all patches together, are too long. */
            patch_too_long?: boolean;
        };
        /**
         * @description The type of a difference.
         * @enum {string}
         */
        FileDifferenceType: "added" | "modified" | "removed";
        /** @description A page of a list. */
        FilePage: {
            /** @description The items of this page. */
            items: components["schemas"]["File"][];
            /** @description The cursor of the next page (`cursor=`); absent on the last page. */
            next_cursor?: string | null;
        };
        /**
         * @description The type of a file.
         * @enum {string}
         */
        FileType: "file" | "folder" | "link" | "other";
        /**
         * @description A request to fork a session.
         * @example {
         *       "name": "a copy",
         *       "snapshot": "snp_0123456789abcdef0123456789abcdef"
         *     }
         */
        ForkRequest: {
            /** @description The name of the new session. */
            name?: string | null;
            snapshot?: components["schemas"]["SnapshotId"] | null;
        };
        /** @description A question. */
        InputQuestion: {
            /** @description Unique in its request. */
            id: string;
            /** @description A few words. */
            header: string;
            /** @description The question. */
            question: string;
            /** @description Answers to choose from; a person may always write their own. */
            options?: components["schemas"]["QuestionOption"][];
        };
        /** @description Questions of an agent to a person. */
        InputRequest: {
            /** @description One to three questions. */
            questions: components["schemas"]["InputQuestion"][];
            /** @description The answers, once there are some. */
            answers?: components["schemas"]["Answer"][] | null;
        };
        /** @description A language, installed on this host or not. */
        Language: {
            /** @description The name, as used in a start request. */
            name: string;
            /** @description Other names of the language. */
            aliases?: string[];
            /** @description File name extensions without the dot; the first is the usual one. */
            suffixes?: string[];
            /** @description The name of its icon. */
            icon?: string;
            /** @description The version of its tool; absent until it is known, or if the tool is missing. */
            version?: string | null;
            /** @description Whether it can be run on this host. */
            available: boolean;
            /** @description The Debian package that provides its tool, if known. */
            package?: string | null;
            /** @description The path of the interpreter or compiler inside a session; absent if it is missing. */
            interpreter?: string | null;
            /** @description Whether code is compiled before it runs. */
            can_build?: boolean;
            /**
             * Format: int64
             * @description The longest time that its code may run here, if the operator has set one.
             */
            max_runtime_ms?: number | null;
        };
        /** @description The answer to `GET /v1/languages`. */
        LanguageList: {
            /** @description All languages in the registry, by name. */
            languages: components["schemas"]["Language"][];
        };
        /**
         * @description A limit, by its name in `limits`.
         * @enum {string}
         */
        LimitKind: "memory_bytes" | "cpu_ms" | "output_bytes" | "disk_bytes" | "inodes" | "file_bytes";
        /** @description Upper bounds; each is optional. */
        Limits: {
            /**
             * Format: int64
             * @description Resident memory, including page cache if the kernel counts it.
             */
            memory_bytes?: number | null;
            /**
             * Format: double
             * @description Processors; `0.5` is half of one.
             */
            cpus?: number | null;
            /**
             * Format: int64
             * @description The number of processes and threads.
             */
            pids?: number | null;
            /**
             * Format: int64
             * @description Open files of each process.
             */
            open_files?: number | null;
            /**
             * Format: int64
             * @description The size of each file.
             */
            file_bytes?: number | null;
            /**
             * Format: int64
             * @description The size of the workspace.
             */
            disk_bytes?: number | null;
            /**
             * Format: int64
             * @description The number of files and folders in the workspace.
             */
            inodes?: number | null;
            /**
             * Format: int64
             * @description The output that is kept of each execution.
             */
            output_bytes?: number | null;
            /**
             * Format: int64
             * @description The wall-clock time of each execution.
             */
            wall_ms?: number | null;
            /**
             * Format: int64
             * @description The processor time of each process.
             */
            cpu_ms?: number | null;
        };
        /** @description The time of a line: RFC 3339, or milliseconds since 1970. */
        LineTime: components["schemas"]["Timestamp"] | number;
        /**
         * @description A folder to list.
         * @example {
         *       "directory": "/src",
         *       "session_id": "demo"
         *     }
         */
        ListRequest: {
            /** @description The session's id or name. */
            session_id: string;
            /** @description The path in the workspace: the workspace itself if absent. */
            directory?: string | null;
            encoding?: components["schemas"]["PathEncoding"] | null;
        };
        /** @description An entry of a folder. */
        ListedFile: {
            /** @description The entry's name. */
            name: string;
            /** @description The path for requests about this entry. */
            path: string;
            encoding?: components["schemas"]["PathEncoding"] | null;
            /** @description `file`, `directory`, `link` or `other`. */
            type: string;
            /**
             * Format: int64
             * @description The size in bytes.
             */
            size: number;
            /** @description When it was last modified. */
            modified: components["schemas"]["Timestamp"];
        };
        /** @description A numbered event. */
        LogEntry: {
            /** @description The message. */
            message: components["schemas"]["Message"];
            /** @enum {string} */
            type: "message_added";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The last message of the branch. */
            message_id: components["schemas"]["MessageId"];
            /** @enum {string} */
            type: "branch_selected";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description Unique in the conversation. */
            turn_id: string;
            /** @description The model, by its name in the configuration; none for a turn without a model. */
            model?: string | null;
            /** @enum {string} */
            type: "turn_started";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The message that the step adds to. */
            message_id: components["schemas"]["MessageId"];
            /**
             * Format: int32
             * @description Which step of the turn, from 1.
             */
            step: number;
            /**
             * Format: int32
             * @description Which attempt, from 1.
             */
            attempt: number;
            /** @enum {string} */
            type: "step_started";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The message of the step. */
            message_id: components["schemas"]["MessageId"];
            /** @description One sentence. */
            reason: string;
            /** @enum {string} */
            type: "step_discarded";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The message. */
            message_id: components["schemas"]["MessageId"];
            /** @description The part. */
            part_id: string;
            /** @description Whether it is reasoning. */
            reasoning?: boolean;
            /** @enum {string} */
            type: "text_started";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The message. */
            message_id: components["schemas"]["MessageId"];
            /** @description The part. */
            part_id: string;
            /** @description More of it. */
            text: string;
            /** @enum {string} */
            type: "text_delta";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The message. */
            message_id: components["schemas"]["MessageId"];
            /** @description The part. */
            part_id: string;
            /** @description Whether it is reasoning. */
            reasoning?: boolean;
            /** @description The whole text. */
            text: string;
            /** @description What the provider wants to get back. */
            opaque?: unknown;
            /** @enum {string} */
            type: "text_ended";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The message. */
            message_id: components["schemas"]["MessageId"];
            /** @description The call. */
            tool_call_id: string;
            /** @description The name of the tool. */
            tool: string;
            /** @enum {string} */
            type: "tool_call_started";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The call. */
            tool_call_id: string;
            /** @description More of the arguments, as JSON text. */
            text: string;
            /** @enum {string} */
            type: "tool_call_delta";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The message. */
            message_id: components["schemas"]["MessageId"];
            /** @description The call. */
            tool_call_id: string;
            /** @description The name of the tool. */
            tool: string;
            /** @description The arguments; a text if they are not JSON. */
            input: unknown;
            /** @enum {string} */
            type: "tool_call_ready";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The call. */
            tool_call_id: string;
            execution_id?: components["schemas"]["ExecutionId"] | null;
            child_id?: components["schemas"]["ConversationId"] | null;
            /** @enum {string} */
            type: "tool_call_running";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The call. */
            tool_call_id: string;
            /** @description The question. */
            approval: components["schemas"]["Approval"];
            /** @enum {string} */
            type: "approval_requested";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The call. */
            tool_call_id: string;
            /** @description The question. */
            approval_id: string;
            /** @description The decision. */
            decision: components["schemas"]["ApprovalDecision"];
            /** @description Why. */
            reason?: string | null;
            /** @description Who decided. */
            by?: string | null;
            /** @enum {string} */
            type: "approval_answered";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The call. */
            tool_call_id: string;
            /** @description The questions. */
            questions: components["schemas"]["InputQuestion"][];
            /** @enum {string} */
            type: "input_requested";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The call. */
            tool_call_id: string;
            /** @description The answers. */
            answers: components["schemas"]["Answer"][];
            /** @enum {string} */
            type: "input_answered";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The call. */
            tool_call_id: string;
            /** @description How: an end of [`ToolCallState`](super::ToolCallState). */
            state: components["schemas"]["ToolCallState"];
            /** @description The result. */
            output: components["schemas"]["ToolCallOutput"];
            /** @description The executions that it started or shows. */
            execution_ids?: components["schemas"]["ExecutionId"][];
            /** @enum {string} */
            type: "tool_call_ended";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description All steps. */
            plan: components["schemas"]["PlanStep"][];
            /** @description Why. */
            explanation?: string | null;
            /** @enum {string} */
            type: "plan_updated";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The message. */
            message_id: components["schemas"]["MessageId"];
            /** @description One sentence. */
            text: string;
            /** @enum {string} */
            type: "noticed";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The message. */
            message_id: components["schemas"]["MessageId"];
            usage?: components["schemas"]["ModelUsage"] | null;
            /** @enum {string} */
            type: "step_ended";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The turn. */
            turn_id: string;
            /** @description How. */
            outcome: components["schemas"]["TurnOutcome"];
            /** @description What went wrong, for a person. */
            error?: string | null;
            /** @enum {string} */
            type: "turn_ended";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The id that it will have. */
            message_id: components["schemas"]["MessageId"];
            /** @description What it consists of. */
            parts: components["schemas"]["Part"][];
            /** @description Who sent it. */
            author?: string | null;
            /** @description When the agent gets it. */
            delivery: components["schemas"]["Delivery"];
            /** @enum {string} */
            type: "message_queued";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The message. */
            message_id: components["schemas"]["MessageId"];
            /** @enum {string} */
            type: "message_unqueued";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The last message of the current branch that the summary covers. */
            message_id: components["schemas"]["MessageId"];
            /** @description The summary. */
            summary: string;
            /** @enum {string} */
            type: "compacted";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        } | {
            /** @description The title. */
            title: string;
            /** @description Where it is from. */
            source?: components["schemas"]["TitleSource"];
            /** @enum {string} */
            type: "title_changed";
            /**
             * Format: int64
             * @description Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970.
             */
            at_ms: number;
        };
        /** @description A page of the log of a conversation. */
        LogPage: {
            /** @description The events, in order. Numbers of deltas that are needed no more are missing. */
            items: components["schemas"]["LogEntry"][];
            /**
             * Format: int64
             * @description `after` of the next page; absent on the last one.
             */
            next_after?: number | null;
        };
        /** @description When and why the log of an execution was removed. */
        LogRemoved: {
            /** @description The time of removal. */
            at: components["schemas"]["Timestamp"];
            /** @description The rule that removed it: `age`, `number`, `size`, or `prune` for an explicit request. */
            reason: string;
        };
        /** @description An MCP server of a conversation, without what may be secret. */
        McpServer: {
            /** @description The program and its arguments. */
            command?: string[];
            /** @description The names of the variables in its environment. */
            env?: string[];
            /** @description The address of a server on the network, without its query. */
            url?: string | null;
            /** @description The names of the headers. */
            headers?: string[];
        };
        /**
         * @description An MCP server whose tools an agent gets: `command`, and perhaps `env`.
         * @example {
         *       "command": [
         *         "issues-mcp",
         *         "--stdio"
         *       ],
         *       "env": {
         *         "ISSUES_TOKEN": "..."
         *       }
         *     }
         */
        McpServerRequest: {
            /** @description A program and its arguments. It runs in the session of the conversation, and speaks the protocol on stdio. */
            command?: string[];
            /** @description Its environment. No response and no export contains the values. */
            env?: {
                [key: string]: string;
            };
            /** @description The address of a server on the network instead, which is called from the server's host. For operators. */
            url?: string | null;
            /** @description The headers of each request to it. No response and no export contains the values. */
            headers?: {
                [key: string]: string;
            };
        };
        /** @description A member. */
        Member: {
            /** @description The user's name, or the owner of a token. */
            user: string;
            /**
             * @description The role of a member of a session.
             * @enum {string}
             */
            role: "viewer" | "editor";
            added_at: components["schemas"]["Timestamp"];
        };
        /** @description An owner and the members. */
        MemberList: {
            /** @description The owner. */
            owner: string;
            /** @description The members, in order of their names. */
            items: components["schemas"]["Member"][];
        };
        /**
         * @description The role of a member.
         * @example {
         *       "role": "viewer"
         *     }
         */
        MemberRequest: {
            /**
             * @description The role of a member of a session.
             * @enum {string}
             */
            role: "viewer" | "editor";
        };
        /** @description A message. Those with the same parent are branches of each other. */
        Message: {
            /** @description Its id. */
            id: components["schemas"]["MessageId"];
            parent_id?: components["schemas"]["MessageId"] | null;
            /** @description Who wrote it. */
            role: components["schemas"]["MessageRole"];
            /** @description The user that sent it, or the model that wrote it. */
            author?: string | null;
            /**
             * Format: int64
             * @description When it was added, in milliseconds since 1970.
             */
            created_at_ms?: number;
            /** @description What it consists of, in order. */
            parts?: components["schemas"]["Part"][];
            usage?: components["schemas"]["ModelUsage"] | null;
        };
        /** @description A message that was accepted. */
        MessageAccepted: {
            /** @description Its id. */
            message_id: components["schemas"]["MessageId"];
            /** @description The turn that works on it, or that it waits for. */
            turn_id?: string | null;
            /** @description Whether it waits for the agent. */
            is_queued: boolean;
        };
        /**
         * @description The id of a message, unique in its conversation: `msg_` and 32 hexadecimal digits, or what its sender chose.
         * @example msg_0123456789abcdef0123456789abcdef
         */
        MessageId: string;
        /**
         * @description Names a message.
         * @example {
         *       "message_id": "msg_0123456789abcdef0123456789abcdef"
         *     }
         */
        MessageRef: {
            /** @description The message. */
            message_id: components["schemas"]["MessageId"];
        };
        /**
         * @description A message to the agent.
         * @example {
         *       "text": "Run the tests."
         *     }
         */
        MessageRequest: {
            id?: components["schemas"]["MessageId"] | null;
            /** @description The text; may be empty if there are attachments. Default: `""`. */
            text?: string;
            /** @description Files of the workspace. */
            attachments?: components["schemas"]["Attachment"][];
            parent_id?: components["schemas"]["MessageId"] | null;
            delivery?: components["schemas"]["Delivery"] | null;
            /** @description The model for the answer; that of the conversation if absent. */
            model?: string | null;
        };
        /**
         * @description Who wrote a message.
         * @enum {string}
         */
        MessageRole: "user" | "assistant";
        /** @description A model of the configuration. */
        Model: {
            /** @description Its name in the configuration. */
            name: string;
            /** @description The API that it is called by: `openai-responses`, `openai-chat` or `anthropic`. */
            api: string;
            /** @description Its name at the provider. */
            model: string;
            /** @description Whether conversations without a model use it. */
            is_default: boolean;
            /**
             * Format: int64
             * @description How many tokens of prompt and answer it can hold.
             */
            context_tokens: number;
            /** @description Whether it can be reached: `unknown` unless it was checked. */
            status: components["schemas"]["ModelStatus"];
            /** @description Why it cannot be reached. */
            detail?: string | null;
        };
        /** @description The models of the configuration. */
        ModelList: {
            /** @description By name. */
            items: components["schemas"]["Model"][];
        };
        /**
         * @description Whether a model can be reached.
         * @enum {string}
         */
        ModelStatus: "unknown" | "ok" | "failed";
        /** @description What calls of a model used. */
        ModelUsage: {
            /**
             * Format: int64
             * @description Tokens of the prompt.
             */
            input_tokens: number;
            /**
             * Format: int64
             * @description Tokens of the prompt that the provider had cached.
             */
            cached_tokens?: number;
            /**
             * Format: int64
             * @description Tokens that the model wrote.
             */
            output_tokens: number;
            /**
             * Format: double
             * @description What the provider says it cost, in US dollars.
             */
            cost_usd?: number | null;
        };
        /**
         * @description A request with two paths.
         * @example {
         *       "from": "notes.txt",
         *       "to": "archive/notes.txt"
         *     }
         */
        MoveRequest: {
            /** @description The file or folder to move or copy. */
            from: string;
            /** @description The new path; missing parent folders are created. */
            to: string;
            /** @description Whether to replace an existing file or empty folder. */
            overwrite?: boolean;
            encoding?: components["schemas"]["PathEncoding"] | null;
        };
        /**
         * @description The network access of a session.
         * @enum {string}
         */
        Network: "none" | "packages" | "full";
        /**
         * @description Changes to a session's `node_modules`.
         * @example {
         *       "install": [
         *         "left-pad@1.3.0"
         *       ]
         *     }
         */
        NodeRequest: {
            /** @description Packages (`left-pad`, `left-pad@1.3.0`, `@scope/name@^2`) or paths in the workspace (`./tiny-1.0.0.tgz`). */
            install?: string[];
            /** @description Names of packages to uninstall first. */
            uninstall?: string[];
            /** @description Install the dependencies in `package.json` of the workspace. */
            manifest?: boolean;
            /** @description Use no registry: the packages must be available without one. */
            offline?: boolean;
            /** @description The conversation whose streams show the change. */
            conversation_id?: string | null;
            /** @description The caller's id for the call, which is in all events of its execution. The execution's id if absent. */
            tool_call_id?: string | null;
        };
        /**
         * @description What happens when the output limit is reached.
         * @enum {string}
         */
        OnOutputLimit: "trim" | "stop";
        /**
         * @description The source of output bytes.
         * @enum {string}
         */
        OutputStream: "stdout" | "stderr" | "output";
        /** @description The caller's quota and use. */
        OwnerUsage: {
            /** @description The user whose quota it is. */
            owner: string;
            /** @description The owner's quota. */
            quota: components["schemas"]["ResourceAmounts"];
            /** @description The current use; CPU time and workspaces may be a few seconds old. */
            used: components["schemas"]["ResourceAmounts"];
            /** @description Disk use by kind. */
            disk: components["schemas"]["DiskUse"];
            /** @description The owner's queued starts, the next one first. */
            waiting: components["schemas"]["QueuedStart"][];
        };
        /** @description An installed package. */
        Package: {
            /** @description The package's name, as the package manager writes it. */
            name: string;
            /** @description The version that is installed. */
            version: string;
        };
        /** @description The installed packages. */
        PackageList: {
            /** @description The path of the environment inside the session. */
            path: string;
            /** @description Whether the environment exists. */
            exists: boolean;
            /** @description The packages, in order of their names. */
            packages: components["schemas"]["Package"][];
            /** @description Whether there are more packages. */
            truncated: boolean;
        };
        /** @description A part of a message. */
        Part: {
            /** @description Unique in its message; empty in messages of people. */
            part_id?: string;
            /** @description The text so far. */
            text: string;
            /** @description Whether more may follow. */
            is_streaming?: boolean;
            /** @description What the provider wants to get back with this part: a signature, or encrypted reasoning. */
            opaque?: unknown;
            /** @enum {string} */
            type: "text";
        } | {
            /** @description Unique in its message; empty in messages of people. */
            part_id?: string;
            /** @description The text so far. */
            text: string;
            /** @description Whether more may follow. */
            is_streaming?: boolean;
            /** @description What the provider wants to get back with this part: a signature, or encrypted reasoning. */
            opaque?: unknown;
            /** @enum {string} */
            type: "reasoning";
        } | {
            /** @description Unique in its conversation. */
            tool_call_id: string;
            /** @description The name of the tool. */
            tool: string;
            /** @description Where it stands. */
            state: components["schemas"]["ToolCallState"];
            /** @description The arguments as the model has written them so far. */
            input_text?: string;
            /** @description The arguments. */
            input?: unknown;
            /** @description The executions that it started or shows, whose output is read live. */
            execution_ids?: components["schemas"]["ExecutionId"][];
            approval?: components["schemas"]["Approval"] | null;
            input_request?: components["schemas"]["InputRequest"] | null;
            child_id?: components["schemas"]["ConversationId"] | null;
            output?: components["schemas"]["ToolCallOutput"] | null;
            /**
             * Format: int64
             * @description When it began to run.
             */
            started_at_ms?: number | null;
            /**
             * Format: int64
             * @description When it ended.
             */
            ended_at_ms?: number | null;
            /** @enum {string} */
            type: "tool_call";
        } | {
            /** @description The name that the person gave it. */
            name: string;
            /** @description Its path in the workspace. */
            path: string;
            /** @description For example `image/png`. */
            media_type: string;
            /**
             * Format: int64
             * @description Its length.
             */
            size_bytes: number;
            /** @enum {string} */
            type: "attachment";
        } | {
            /**
             * Format: int32
             * @description Which one, from 1.
             */
            number: number;
            /** @enum {string} */
            type: "step";
        } | {
            /** @description One sentence. */
            text: string;
            /** @enum {string} */
            type: "notice";
        };
        /**
         * @description The encoding of a path that is not valid UTF-8.
         * @enum {string}
         */
        PathEncoding: "percent";
        /**
         * @description A request with one path.
         * @example {
         *       "path": "src"
         *     }
         */
        PathRequest: {
            /** @description A path in the workspace. */
            path: string;
            encoding?: components["schemas"]["PathEncoding"] | null;
        };
        /** @description A step of a plan. */
        PlanStep: {
            /** @description What is to be done. */
            step: string;
            /** @description Where it stands. */
            status: components["schemas"]["PlanStepStatus"];
        };
        /**
         * @description Where a step of a plan stands.
         * @enum {string}
         */
        PlanStepStatus: "pending" | "in_progress" | "completed";
        /** @description A TCP port. */
        Port: {
            /**
             * Format: int32
             * @description Its number, in the session.
             */
            port: number;
        };
        /** @description The ports of a session. */
        PortList: {
            /** @description Ascending. */
            items: components["schemas"]["Port"][];
        };
        /** @description A preview of a port. */
        Preview: {
            /**
             * Format: int32
             * @description The port that it shows.
             */
            port: number;
            /**
             * @description The address of the preview. Whoever has it can use the port until it expires: it needs no credential.
             * @example http://0a1b2c.localhost:8080/
             */
            url: string;
            expires_at: components["schemas"]["Timestamp"];
        };
        /**
         * @description A request for a preview.
         * @example {
         *       "port": 8000
         *     }
         */
        PreviewRequest: {
            /**
             * Format: int32
             * @description The port, which a program need not listen on yet.
             */
            port: number;
        };
        /** @description A process of an execution. */
        Process: {
            /**
             * Format: int32
             * @description The process id, as seen inside the session.
             */
            pid: number;
            /**
             * Format: int32
             * @description The parent's process id, as seen inside the session.
             */
            ppid: number;
            /** @description The name known to the kernel: at most 15 bytes, chosen by the program. */
            name: string;
        };
        /** @description The processes of an execution. */
        ProcessList: {
            /** @description All current processes, including background children. */
            processes: components["schemas"]["Process"][];
        };
        /**
         * @description The type of a content.
         * @enum {string}
         */
        ProgressType: "stdout" | "stderr" | "status";
        /** @description An update of a call. */
        ProgressUpdate: {
            /** @description The call's id, repeated. */
            toolCallId: string;
            /** @description The type of the content. */
            type: components["schemas"]["ProgressType"];
            /**
             * @description The text that follows the earlier text; or, for a status, the state of the call: `running`, at the end
             *     `exited 0`, `timed out after 5 s`, `cancelled`; and in between reports about output that is not shown.
             */
            content: string;
            /**
             * Format: int64
             * @description When it happened, in milliseconds since 1970-01-01T00:00:00Z.
             */
            timestamp: number;
            /** @description The execution, for its routes. */
            executionId?: string | null;
        };
        /**
         * @description Which logs of ended executions to remove. Without `older_than`, `keep` and `all` the rules of the
         *     configuration apply.
         * @example {
         *       "dry_run": true,
         *       "older_than": "7d"
         *     }
         */
        PruneRequest: {
            /** @description Only logs of this owner; for the operator. */
            owner?: string | null;
            /** @description Only logs of this session. */
            session_id?: string | null;
            /** @description Logs of executions that ended at least this long ago: `7d`, `12h`. */
            older_than?: string | null;
            /**
             * Format: int64
             * @description All logs except this many of the newest.
             */
            keep?: number | null;
            /** @description All logs of ended executions. */
            all?: boolean;
            /** @description Report what would be removed, and remove nothing. */
            dry_run?: boolean;
        };
        /** @description The logs that were removed, or would be. */
        PrunedLogs: {
            /** @description Whether this was a dry run, which removes nothing. */
            dry_run: boolean;
            /**
             * Format: int64
             * @description The number of logs.
             */
            logs: number;
            /**
             * Format: int64
             * @description Their size on disk.
             */
            bytes: number;
            /** @description The first 1,000 of their executions, oldest first. */
            executions: string[];
        };
        /** @description A session's virtual environment. */
        PythonEnvironment: {
            /** @description The path inside the session. */
            path: string;
            /** @description Whether it exists. If so, Python code of the session runs in it. */
            exists: boolean;
            /** @description The version of Python in it. */
            version?: string | null;
            /** @description The execution that creates it, if it was started by this request. */
            execution_id?: string | null;
        };
        /**
         * @description Changes to a session's virtual environment.
         * @example {
         *       "install": [
         *         "requests==2.32.3"
         *       ]
         *     }
         */
        PythonRequest: {
            /** @description Packages (`requests`, `requests==2.32.3`, `a[b]>=1,<2`) or paths in the workspace (`./tiny-1.0-py3-none-any.whl`). */
            install?: string[];
            /** @description Names of packages to uninstall first. */
            uninstall?: string[];
            /** @description A requirements file in the workspace. */
            requirements?: string | null;
            /** @description Use no registry: the packages must be available without one. */
            offline?: boolean;
            /** @description The conversation whose streams show the change. */
            conversation_id?: string | null;
            /** @description The caller's id for the call, which is in all events of its execution. The execution's id if absent. */
            tool_call_id?: string | null;
        };
        /** @description An answer to choose. */
        QuestionOption: {
            /** @description The answer. */
            label: string;
            /** @description What it means. */
            description?: string;
        };
        /** @description A message that waits for the agent. */
        QueuedMessage: {
            /** @description The id that it will have. */
            message_id: components["schemas"]["MessageId"];
            /** @description What it consists of. */
            parts: components["schemas"]["Part"][];
            /** @description Who sent it. */
            author?: string | null;
            /** @description When the agent gets it. */
            delivery: components["schemas"]["Delivery"];
        };
        /** @description A queued start. */
        QueuedStart: {
            /** @description The position in the queue of all owners; 1 is the next. */
            place: number;
            /** @description The session it is for; `one-shot` for a dedicated one. */
            session_id: string;
            /**
             * Format: int64
             * @description How long it has been waiting.
             */
            waiting_ms: number;
        };
        /**
         * @description A file to read.
         * @example {
         *       "path": "/src/main.py",
         *       "session_id": "demo"
         *     }
         */
        ReadRequest: {
            /** @description The session's id or name. */
            session_id: string;
            /** @description The path in the workspace: `/src/main.py` and `/workspace/src/main.py` are the same file. */
            path: string;
            encoding?: components["schemas"]["PathEncoding"] | null;
        };
        /**
         * @description A call of a tool.
         * @example {
         *       "agent": "default",
         *       "arguments": {
         *         "cmd": "make test"
         *       },
         *       "called_at": "2026-01-02T03:04:05.678Z",
         *       "caller": "ann",
         *       "conversation_id": "chat_1",
         *       "duration_ms": 2104,
         *       "execution_ids": [
         *         "exe_0123456789abcdef0123456789abcdef"
         *       ],
         *       "is_error": false,
         *       "result": "Wall time: 2.1 seconds\n...",
         *       "tool": "exec_command",
         *       "tool_call_id": "call_1"
         *     }
         */
        RecordedToolCall: {
            /** @description The name of the tool. */
            tool: string;
            /** @description The arguments, with long texts cut and secrets masked; `null` if they are too long even then. */
            arguments?: Record<string, never> | null;
            /** @description The text for the model, cut to 16 KiB, with secrets masked; `null` if the caller disconnected before it. */
            result?: string | null;
            /** @description Whether the tool failed. */
            is_error: boolean;
            /** @description The user that called. */
            caller: string;
            /** @description The name of the agent. */
            agent: string;
            /** @description The conversation, if the call belongs to one. */
            conversation_id?: string | null;
            /** @description The caller's id of the call. */
            tool_call_id?: string | null;
            /** @description The executions that the result is about. */
            execution_ids: components["schemas"]["ExecutionId"][];
            /** @description When it was called. */
            called_at: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description How long it took.
             */
            duration_ms: number;
        };
        /** @description A page of a list. */
        RecordedToolCallPage: {
            /** @description The items of this page. */
            items: components["schemas"]["RecordedToolCall"][];
            /** @description The cursor of the next page (`cursor=`); absent on the last page. */
            next_cursor?: string | null;
        };
        /**
         * @description A request for the next access token.
         * @example {
         *       "refresh_token": "hwr_..."
         *     }
         */
        RefreshRequest: {
            /** @description From the sign-in, or from the last call of this route. */
            refresh_token: string;
        };
        /**
         * @description The body of `POST /v1/executions/{id}/resize`.
         * @example {
         *       "cols": 80,
         *       "rows": 24
         *     }
         */
        ResizeRequest: {
            /**
             * Format: int32
             * @description The number of rows.
             */
            rows: number;
            /**
             * Format: int32
             * @description The number of columns.
             */
            cols: number;
        };
        /** @description Amounts of limited resources. In `quota`, absent means unlimited. */
        ResourceAmounts: {
            /**
             * Format: int64
             * @description Sessions that have not ended.
             */
            sessions?: number | null;
            /**
             * Format: int64
             * @description Concurrent executions.
             */
            executions?: number | null;
            /**
             * Format: int64
             * @description CPU time of today (UTC).
             */
            cpu_ms?: number | null;
            /**
             * Format: int64
             * @description Bytes on the disk: workspaces, snapshots and logs together.
             */
            disk_bytes?: number | null;
        };
        /** @description The rules of a session. */
        RuleList: {
            /** @description Oldest first. */
            items: components["schemas"]["SessionRule"][];
        };
        /**
         * @description A call of `run_command`.
         * @example {
         *       "command": "echo Hello",
         *       "conversationId": "chat_1",
         *       "toolCallId": "call_1"
         *     }
         */
        RunCommandRequest: {
            /** @description A shell command (bash). */
            command: string;
            /** @description The working directory, relative to the workspace, which is the default. `cwd` is another name for it. */
            workingDirectory?: string | null;
            /**
             * Format: double
             * @description The timeout in seconds: 60 if absent, at most 86400. After it the program gets SIGTERM, and SIGKILL 5
             *     s later.
             */
            timeout?: number | null;
            /** @description The caller's id for this call, which is in all its events. The execution's id if absent. */
            toolCallId?: string | null;
            /** @description The conversation whose streams show the call. `conversation_id` is another name for it. */
            conversationId?: string | null;
            /**
             * @description The session that it runs in: its id, its name or a unique prefix of its id. A dedicated session, which ends with
             *     the command, if absent. `session_id` is another name for it.
             */
            sessionId?: string | null;
            /** @description Commands with the same id share a session, as in `code_execution`. `interactive_id` is another name for it. */
            interactiveId?: string | null;
            /**
             * Format: int64
             * @description How many bytes of each stream the events and the result show. After that a note replaces the rest; the command
             *     continues, and `output_url` returns the whole output. If absent, the events show everything and the result up to
             *     16 MiB.
             */
            maxBuffer?: number | null;
        };
        /** @description What one running session uses. */
        RunningUsage: {
            /** @description The session. */
            session_id: string;
            /**
             * Format: int64
             * @description CPU time of all programs since the session was created or resumed.
             */
            cpu_ms: number;
            /**
             * Format: int64
             * @description Memory; 0 where the host does not count it.
             */
            memory_bytes: number;
            /** @description The number of processes. */
            processes: number;
            /**
             * Format: int64
             * @description Bytes of the workspace and its snapshots, when last measured.
             */
            disk_bytes: number;
            /**
             * Format: int64
             * @description Of these, bytes of the snapshots.
             */
            snapshot_bytes: number;
            /**
             * Format: int64
             * @description Allocated bytes of the logs of its executions.
             */
            log_bytes: number;
        };
        /** @description What running sessions use. */
        RunningUsageList: {
            /** @description The sessions that are running. */
            items: components["schemas"]["RunningUsage"][];
        };
        /**
         * @description The isolation of a session. Shown wherever the session is shown.
         * @enum {string}
         */
        SandboxKind: "full" | "none";
        /**
         * @description A result to save with a message.
         * @example {
         *       "artifact_uuid": "art-1",
         *       "execution_id": "run-1",
         *       "execution_time_ms": 12,
         *       "language": "javascript",
         *       "message_uuid": "msg-1",
         *       "output": [
         *         {
         *           "content": "Hello",
         *           "id": "line-1",
         *           "timestamp": "2026-01-02T03:04:05.679Z",
         *           "type": "log"
         *         }
         *       ],
         *       "status": "success",
         *       "timestamp": "2026-01-02T03:04:05.678Z"
         *     }
         */
        SaveExecutionRequest: {
            /** @description The message that it belongs to, by the client's id. */
            message_uuid: string;
            /** @description The artifact that was run, by the client's id. */
            artifact_uuid: string;
            /** @description The client's id of the execution. A result with the same ids replaces the earlier one. */
            execution_id: string;
            /** @description When it was run. */
            timestamp: components["schemas"]["Timestamp"];
            /** @description The language. */
            language: string;
            /** @description What it printed. */
            output?: components["schemas"]["ExecutionOutputLine"][];
            /**
             * Format: double
             * @description How long it took, in milliseconds.
             */
            execution_time_ms: number;
            /** @description How it ended. */
            status: components["schemas"]["ExecutionResultStatus"];
        };
        /** @description A match of a search. */
        SearchMatch: {
            /** @description The path below the workspace. */
            path: string;
            encoding?: components["schemas"]["PathEncoding"] | null;
            /** @description The type of the file. */
            kind: components["schemas"]["FileType"];
            /**
             * Format: int64
             * @description The line number, from 1, for a match in the content.
             */
            line?: number | null;
            /**
             * Format: int64
             * @description The column, from 1, in bytes.
             */
            column?: number | null;
            /** @description The line, or 400 bytes of it. */
            text?: string | null;
            /**
             * Format: int64
             * @description The position in the line where `text` begins, if not at its beginning.
             */
            text_offset?: number | null;
            /** @description Whether `text` is only a part of the line. */
            text_truncated?: boolean;
        };
        /** @description All results of a search. */
        SearchResult: {
            /** @description The matches. */
            items: components["schemas"]["SearchMatch"][];
            /** @description How the search ended, and what it covered. */
            summary: components["schemas"]["SearchSummary"];
        };
        /** @description The summary of a search. */
        SearchSummary: {
            /**
             * Format: int64
             * @description The number of matches.
             */
            matches: number;
            /**
             * Format: int64
             * @description The number of files whose content was searched.
             */
            files: number;
            /**
             * Format: int64
             * @description The number of files that were skipped: binary, not readable, or with a line that is too long.
             */
            skipped: number;
            /** @description Why the search ended early: `limit`, `time` or `entries`. */
            stopped?: string | null;
        };
        /** @description The answer to `GET /v1/info`. */
        ServerInfo: {
            /** @description The version of the gateway. */
            version: string;
            /** @description The version of the worker. */
            worker_version: string;
            /** @description When the gateway started. */
            started_at: components["schemas"]["Timestamp"];
            /** @description The isolation of new sessions. */
            sandbox: components["schemas"]["SandboxKind"];
            /**
             * Format: int32
             * @description The number of sessions that are ready.
             */
            sessions: number;
            /**
             * Format: int32
             * @description The number of executions that have not ended.
             */
            running: number;
            /**
             * Format: int32
             * @description The number of prepared sessions in the pool.
             */
            prepared: number;
            /** @description How each limit is enforced on this host, for people. */
            enforcement: {
                [key: string]: string;
            };
        };
        /**
         * @description A workspace with its own sandbox, in which executions run.
         * @example {
         *       "created_at": "2026-01-02T03:04:05.678Z",
         *       "ended_at": null,
         *       "env": {
         *         "LANG": "C.UTF-8"
         *       },
         *       "id": "ses_0123456789abcdef0123456789abcdef",
         *       "idle_timeout_ms": null,
         *       "limits": {
         *         "memory_bytes": 536870912
         *       },
         *       "metadata": {
         *         "project": "docs"
         *       },
         *       "name": "demo",
         *       "network": "packages",
         *       "one_shot": false,
         *       "owner": "ann",
         *       "running": 0,
         *       "sandbox": "full",
         *       "state": "ready"
         *     }
         */
        Session: {
            /** @description The id: `ses_` and 32 hexadecimal digits. */
            id: components["schemas"]["SessionId"];
            /** @description The user that it belongs to. */
            owner?: string;
            /** @description A name for people. */
            name?: string | null;
            /** @description The current state. */
            state: components["schemas"]["SessionStateName"];
            /** @description The isolation of the session. */
            sandbox: components["schemas"]["SandboxKind"];
            /**
             * @description Environment variables for every execution in the session. The values of secret variables are empty. Users
             *     with read-only access get all names with empty values. Absent in lists, because it can be large.
             */
            env?: {
                [key: string]: string;
            } | null;
            /** @description Whether the values of `env` are hidden from this user. */
            env_hidden?: boolean;
            /** @description The names of the variables in `env` whose values are secret. */
            secret_env?: string[];
            /** @description Limits of the session. */
            limits: components["schemas"]["Limits"];
            /**
             * Format: int64
             * @description The session ends after this long without an execution.
             */
            idle_timeout_ms?: number | null;
            /** @description Metadata that the client set. */
            metadata: {
                [key: string]: string;
            };
            /** @description Network access. */
            network: components["schemas"]["Network"];
            /** @description Whether it was created for one execution and ends with it. */
            one_shot: boolean;
            /** @description When it was created. */
            created_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"] | null;
            last_activity_at?: components["schemas"]["Timestamp"] | null;
            /**
             * Format: int32
             * @description The number of executions in it that have not ended.
             */
            running: number;
        };
        /**
         * @description The id of a session: `ses_` and 32 hexadecimal digits.
         * @example ses_0123456789abcdef0123456789abcdef
         */
        SessionId: string;
        /** @description A page of a list. */
        SessionPage: {
            /** @description The items of this page. */
            items: components["schemas"]["Session"][];
            /** @description The cursor of the next page (`cursor=`); absent on the last page. */
            next_cursor?: string | null;
        };
        /**
         * @description A change of a session; absent fields stay as they are.
         * @example {
         *       "limits": {
         *         "wall_ms": 60000
         *       },
         *       "metadata": {
         *         "project": ""
         *       },
         *       "name": "another name"
         *     }
         */
        SessionPatch: {
            /** @description The new name. */
            name?: string | null;
            limits?: components["schemas"]["Limits"] | null;
            /**
             * Format: int64
             * @description The new idle timeout; 0 removes it.
             */
            idle_timeout_ms?: number | null;
            /** @description Merged with the existing metadata; an empty value removes a key. */
            metadata?: {
                [key: string]: string;
            };
        };
        /**
         * @description A request for a session.
         * @example {
         *       "env": {
         *         "LANG": "C.UTF-8"
         *       },
         *       "limits": {
         *         "cpus": 1,
         *         "memory_bytes": 536870912
         *       },
         *       "metadata": {
         *         "project": "docs"
         *       },
         *       "name": "demo",
         *       "network": "packages"
         *     }
         */
        SessionRequest: {
            /** @description A name for people; it need not be unique. */
            name?: string | null;
            /** @description Environment variables for every execution in the session. */
            env?: {
                [key: string]: string;
            };
            /**
             * @description The names of the variables in `env` whose values are secret: no response contains them, and they are masked
             *     in the results of tools. A secret value has at least 4 bytes.
             */
            secret_env?: string[];
            /**
             * @description The template that it starts from (`GET /v1/templates`): its files are written into the workspace, and its limits
             *     apply where `limits` has none.
             */
            template?: string | null;
            /** @description Limits of the session. */
            limits?: components["schemas"]["Limits"];
            /**
             * Format: int64
             * @description The session ends after this long without an execution.
             */
            idle_timeout_ms?: number | null;
            /** @description Metadata for the client's own use. */
            metadata?: {
                [key: string]: string;
            };
            /** @description Network access; none by default. Default: `"none"`. */
            network?: components["schemas"]["Network"];
        };
        /**
         * @description A rule by which commands run without a question.
         * @example {
         *       "created_at": "2026-01-02T03:04:05.678Z",
         *       "grants": {
         *         "network": true
         *       },
         *       "number": 3,
         *       "prefix": [
         *         "cargo",
         *         "fetch"
         *       ],
         *       "user": "ann",
         *       "workdir": "/workspace"
         *     }
         */
        SessionRule: {
            /**
             * Format: int64
             * @description Its number in this server.
             */
            number: number;
            /** @description The user for whose agents it holds. */
            user: string;
            /** @description The first words of the commands, each compared as a whole. */
            prefix: string[];
            /** @description Only in this working directory. */
            workdir?: string | null;
            /** @description What such a command may get besides the rights of its session. */
            grants: Record<string, never>;
            /** @description When a person added it. */
            created_at: components["schemas"]["Timestamp"];
        };
        /**
         * @description The state of a session.
         * @enum {string}
         */
        SessionStateName: "ready" | "hibernated" | "ended";
        /** @description What a session uses now, and its limits. */
        SessionUsage: {
            /**
             * @description `ready` or `hibernated`. Nothing runs in a hibernated session: all that it uses is `disk_bytes`, and the
             *     others are 0.
             */
            state: components["schemas"]["SessionStateName"];
            /** @description The current use. */
            used: components["schemas"]["SessionUse"];
            /** @description The limits that the usage counts towards. */
            limits: components["schemas"]["UsageLimits"];
        };
        /** @description The current use of a session. `null` means that the host does not count it. */
        SessionUse: {
            /**
             * Format: int64
             * @description Memory, including page cache if the kernel counts it.
             */
            memory_bytes?: number | null;
            /**
             * Format: int64
             * @description The CPU time of all programs since the session was created or resumed.
             */
            cpu_ms?: number | null;
            /**
             * Format: int64
             * @description Processes and threads, including the session's init.
             */
            pids?: number | null;
            /**
             * Format: int64
             * @description The size of the workspace and the snapshots. It is measured at most once a second, less often if that takes
             *     long.
             */
            disk_bytes?: number | null;
        };
        /** @description A setting. */
        Setting: {
            /** @description Its path in the configuration file, such as `server.listen`. */
            key: string;
            /** @description The value that is in force. Secrets are not shown. */
            value: unknown;
            /** @description The value without any configuration. */
            default: unknown;
            /** @description Where the value comes from: `default`, the file, a variable or a flag. */
            source: string;
            /** @description The value of the running worker, if that was started with another one. */
            running?: unknown;
        };
        /** @description All settings. */
        Settings: {
            /** @description By their paths. */
            items: components["schemas"]["Setting"][];
        };
        /**
         * @description The severity of a diagnostic.
         * @enum {string}
         */
        Severity: "error" | "warning" | "note";
        /** @description A link to a session. */
        Share: {
            /** @description `shr_` and 32 hexadecimal digits. */
            id: string;
            /** @description The session that the link opens. */
            session_id: string;
            /**
             * @description The access that a link gives.
             * @enum {string}
             */
            access: "read" | "write";
            /** @description The user who created the link. */
            made_by: string;
            created_at: components["schemas"]["Timestamp"];
            expires_at: components["schemas"]["Timestamp"];
            revoked_at?: components["schemas"]["Timestamp"] | null;
            /**
             * @description The secret that opens the session, for `Authorization: Bearer` or `?token=`; returned only when the
             *     link is created.
             */
            token?: string | null;
        };
        /** @description All links of a session. */
        ShareList: {
            /** @description Oldest first. */
            items: components["schemas"]["Share"][];
        };
        /**
         * @description A request for a link.
         * @example {
         *       "access": "read",
         *       "expires_in_ms": 86400000
         *     }
         */
        ShareRequest: {
            /**
             * @description The access that a link gives.
             * @enum {string}
             */
            access: "read" | "write";
            /**
             * Format: int64
             * @description The lifetime of the link: 7 days if absent, at most 365.
             */
            expires_in_ms?: number | null;
        };
        /**
         * @description A request to sign in.
         * @example {
         *       "name": "ann",
         *       "password": "correct horse battery"
         *     }
         */
        SignInRequest: {
            /** @description The user's name; case does not matter. */
            name: string;
            /** @description The user's password. */
            password: string;
            /** @description For a browser: set a cookie instead of returning tokens. */
            cookie?: boolean;
        };
        /**
         * @description Options for signing out.
         * @example {
         *       "everywhere": true
         *     }
         */
        SignOutRequest: {
            /** @description End all sign-ins of the user, not only this one. */
            everywhere?: boolean;
        };
        /** @description A signal by number or name. */
        SignalName: number | string;
        /**
         * @description The body of `POST /v1/executions/{id}/signal`.
         * @example {
         *       "signal": "SIGINT"
         *     }
         */
        SignalRequest: {
            /** @description The signal to send. */
            signal: components["schemas"]["SignalName"];
            /** @description Whether to signal every process of the execution instead of its (foreground) group. */
            tree?: boolean;
        };
        /** @description The tokens of a sign-in. */
        SignedIn: {
            /** @description A JWT, for `Authorization: Bearer`. */
            access_token?: string | null;
            /** @description Always `Bearer`. */
            token_type?: string | null;
            /**
             * Format: int64
             * @description The lifetime of the access token.
             */
            expires_in_ms?: number | null;
            /** @description Valid for one use, for `POST /v1/login/refresh`. */
            refresh_token?: string | null;
            user: components["schemas"]["User"];
        };
        /**
         * @description A snapshot of a workspace.
         * @example {
         *       "bytes": 40960,
         *       "created_at": "2026-01-02T03:04:05.678Z",
         *       "files": 10,
         *       "id": "snp_0123456789abcdef0123456789abcdef",
         *       "name": "before the upgrade"
         *     }
         */
        Snapshot: {
            /** @description The id: `snp_` and 32 hexadecimal digits. */
            id: components["schemas"]["SnapshotId"];
            /** @description A name for people. */
            name?: string | null;
            /** @description When it was created. */
            created_at: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description Its size on disk, as if it shared nothing with the workspace.
             */
            bytes: number;
            /**
             * Format: int64
             * @description The number of files, folders and links in it.
             */
            files: number;
        };
        /**
         * @description The id of a snapshot of a workspace: `snp_` and 32 hexadecimal digits.
         * @example snp_0123456789abcdef0123456789abcdef
         */
        SnapshotId: string;
        /** @description The snapshots of a session, oldest first. */
        SnapshotList: {
            /** @description The oldest first. */
            items: components["schemas"]["Snapshot"][];
        };
        /**
         * @description A request for a snapshot.
         * @example {
         *       "name": "before the upgrade"
         *     }
         */
        SnapshotRequest: {
            /** @description A name for people; it need not be unique. */
            name?: string | null;
        };
        /** @description A range in a file. Lines and columns (in bytes) count from 1, and the end is exclusive. */
        SourceRange: {
            /** @description The path in the workspace, or of a system header. */
            file?: string | null;
            /**
             * Format: int32
             * @description The first line. Default: `0`.
             */
            line?: number;
            /**
             * Format: int32
             * @description The first column. Default: `0`.
             */
            column?: number;
            /**
             * Format: int32
             * @description The last line. Default: `0`.
             */
            end_line?: number;
            /**
             * Format: int32
             * @description The column after the last. Default: `0`.
             */
            end_column?: number;
        };
        /**
         * @description A request to start an execution: one of `argv`, `shell`, or `language` with `code`.
         * @example {
         *       "code": "print('Hello')",
         *       "language": "python"
         *     }
         * @example {
         *       "shell": "seq 10 | wc -l",
         *       "timeout_ms": 10000
         *     }
         * @example {
         *       "argv": [
         *         "ls",
         *         "-l"
         *       ],
         *       "cwd": "src"
         *     }
         */
        StartRequest: {
            /** @description A program and its arguments. */
            argv?: string[] | null;
            /** @description A shell command line. */
            shell?: string | null;
            /** @description A language from `GET /v1/languages`. */
            language?: string | null;
            /** @description Source code in that language. */
            code?: string | null;
            /** @description A path in the workspace where the code is saved before it runs, and kept. */
            file?: string | null;
            /** @description Arguments for the code. */
            args?: string[];
            /** @description The working directory, relative to the workspace, which is the default. */
            cwd?: string | null;
            /** @description Environment variables in addition to the session's. */
            env?: {
                [key: string]: string;
            };
            /** @description Standard input. Default: `"none"`. */
            stdin?: components["schemas"]["StdinRequest"];
            tty?: components["schemas"]["TtySize"] | null;
            /** @description Merge stdout and stderr into one stream, in exact order. Default: `false`. */
            merge_output?: boolean;
            /**
             * Format: int64
             * @description The longest time that it may run.
             */
            timeout_ms?: number | null;
            /**
             * Format: int64
             * @description The time between SIGTERM and SIGKILL; 5 s by default.
             */
            grace_ms?: number | null;
            /** @description Limits, lower than the session's. */
            limits?: components["schemas"]["Limits"];
            /** @description What happens to child processes that outlive the program. Default: `"keep"`. */
            children?: components["schemas"]["Children"];
            /** @description What happens when the output limit is reached. Default: `"trim"`. */
            on_output_limit?: components["schemas"]["OnOutputLimit"];
            /**
             * @description Metadata for the client's own use. `conversation_id` and `tool_call_id` add the execution to the
             *     streams of that conversation.
             */
            metadata?: {
                [key: string]: string;
            };
        };
        /**
         * @description The started execution.
         * @example {
         *       "execution_id": "exe_0123456789abcdef0123456789abcdef",
         *       "pid": 42,
         *       "status": "running"
         *     }
         */
        StartedExecution: {
            /** @description Use it with the routes below `/v1/executions`. */
            execution_id: string;
            /** @description The execution's status. */
            status: components["schemas"]["ExecutionStatusName"];
            /**
             * Format: int32
             * @description The process id inside the session, while it is running.
             */
            pid?: number | null;
        };
        /** @description Standard input of the program. */
        StdinRequest: "none" | "open" | {
            /** @description This text, then end of file. */
            text: string;
        } | {
            /** @description These bytes in base64, then end of file. */
            base64: string;
        };
        /** @description What became of a request to stop. */
        Stop: {
            /** @description Whether a turn ran. */
            was_running: boolean;
        };
        /**
         * @description Which response is to be stopped.
         * @example {
         *       "streamId": "turn_0123456789abcdef0123456789abcdef"
         *     }
         */
        StopUiStreamRequest: {
            /** @description Only this one: `streamId` of the message's metadata. So a late stop does not meet the next response. */
            streamId?: string | null;
        };
        /** @description What a session can start from. */
        Template: {
            /** @description The name, as used in a request for a session. */
            name: string;
            /** @description A title for people. */
            title: string;
            /** @description What it is for. */
            description: string;
            /** @description The language that it needs. */
            language?: string | null;
            /** @description Whether that language is installed; true if it needs none. */
            available: boolean;
            /** @description The file to open first. */
            open?: string | null;
            /** @description The limits of a session, unless the request has others. */
            limits: components["schemas"]["Limits"];
        };
        /** @description The templates. */
        TemplateList: {
            /** @description All templates, by name. */
            items: components["schemas"]["Template"][];
        };
        /** @description A terminal of a session. */
        Terminal: {
            /** @description The name in its session. */
            name: string;
            /** @description The execution that runs the terminal's shell. */
            execution_id: string;
            /**
             * Format: int32
             * @description The number of rows.
             */
            rows: number;
            /**
             * Format: int32
             * @description The number of columns.
             */
            cols: number;
            /** @description The title that the program set; untrusted text. */
            title?: string | null;
            /** @description Whether its shell is running. */
            running: boolean;
            /** @description When it was created. */
            created_at: components["schemas"]["Timestamp"];
        };
        /** @description The terminals of a session. */
        TerminalList: {
            /** @description The newest terminal of each name. */
            terminals: components["schemas"]["Terminal"][];
        };
        /**
         * @description A request for a terminal.
         * @example {
         *       "cols": 80,
         *       "name": "main",
         *       "rows": 24
         *     }
         */
        TerminalRequest: {
            /** @description The name: `main` if absent. */
            name?: string | null;
            /**
             * Format: int32
             * @description The number of rows: 24 if absent.
             */
            rows?: number | null;
            /**
             * Format: int32
             * @description The number of columns: 80 if absent.
             */
            cols?: number | null;
            /** @description A shell command to run instead of a login shell. */
            command?: string | null;
        };
        /** @description The screen of a terminal. */
        TerminalScreen: {
            /** @description The execution that runs the terminal's shell. */
            execution_id: string;
            /**
             * Format: int64
             * @description The `seq` of the last event that is included.
             */
            seq: number;
            /**
             * Format: int32
             * @description The number of rows.
             */
            rows: number;
            /**
             * Format: int32
             * @description The number of columns.
             */
            cols: number;
            /** @description The title that the program set; untrusted text. */
            title: string;
            /** @description Output that draws the screen on an empty terminal of that size, if it is valid UTF-8. */
            text?: string | null;
            /** @description The same as base64, if it is not valid UTF-8. */
            base64?: string | null;
        };
        /** @description A file's content; written by `FileResponse`. */
        TextFile: {
            /** @description The path as requested. */
            path: string;
            /** @description The content as text. Invalid UTF-8 is replaced by U+FFFD. */
            content: string;
            /** @description The exact bytes, if they are not valid UTF-8. */
            base64?: string | null;
            /**
             * Format: int64
             * @description The file's size in bytes.
             */
            size: number;
            /** @description When it was last modified. */
            modified: components["schemas"]["Timestamp"];
            /** @description Identifies this version of the file. */
            etag: string;
        };
        /**
         * @description A ticket, for `?token=`.
         * @example {
         *       "expires_in_ms": 30000,
         *       "ticket": "hwt_..."
         *     }
         */
        Ticket: {
            /** @description Opens one stream, and resumes it. */
            ticket: string;
            /**
             * Format: int64
             * @description How long it may wait for its first use.
             */
            expires_in_ms: number;
        };
        /**
         * Format: date-time
         * @description A time in milliseconds since 1970.
         */
        Timestamp: string;
        /**
         * @description Where a title is from.
         * @enum {string}
         */
        TitleSource: "message" | "model" | "person";
        /**
         * @description A token, without its secret.
         * @example {
         *       "created_at": "2026-01-02T03:04:05.678Z",
         *       "id": "tok_0123456789abcdef",
         *       "name": "ci",
         *       "owner": "ann",
         *       "role": "member",
         *       "token": "hw_..."
         *     }
         */
        Token: {
            /** @description `tok_` and 32 hexadecimal digits. */
            id: string;
            /** @description A name for people; it need not be unique. */
            name: string;
            /** @description The owner of everything that is created with the token. */
            owner: string;
            /**
             * @description The role of a user or token.
             * @enum {string}
             */
            role: "admin" | "member" | "reader";
            /** @description The sessions that the token may use; all if absent. */
            sessions?: string[] | null;
            /** @description The actions that the token may perform; all that its role allows if absent. */
            scopes?: string[] | null;
            created_at: components["schemas"]["Timestamp"];
            expires_at?: components["schemas"]["Timestamp"] | null;
            revoked_at?: components["schemas"]["Timestamp"] | null;
            last_used_at?: components["schemas"]["Timestamp"] | null;
            /** @description The token that the client sends. It is returned once, when the token is created. */
            token?: string | null;
        };
        /** @description A page of a list. */
        TokenPage: {
            /** @description The items of this page. */
            items: components["schemas"]["Token"][];
            /** @description The cursor of the next page (`cursor=`); absent on the last page. */
            next_cursor?: string | null;
        };
        /**
         * @description A request for a token.
         * @example {
         *       "expires_in_ms": 2592000000,
         *       "name": "ci",
         *       "role": "member",
         *       "scopes": [
         *         "executions:write",
         *         "files:read"
         *       ]
         *     }
         */
        TokenRequest: {
            /** @description A label for people. */
            name?: string;
            /** @description The role, at most your own; if absent, `member`, or your own if that is less. */
            role?: ("admin" | "member" | "reader") | null;
            /**
             * @description The sessions to restrict the token to, each by its id, its name or a unique prefix of its id; all if
             *     absent. The token keeps to these sessions if another one gets the name.
             */
            sessions?: string[] | null;
            /**
             * @description The scopes to restrict the token to, such as `executions:read` or `files:write`; everything that its
             *     role allows if absent. Areas are `sessions`, `executions`, `files`, `terminals`, `builds`, `tokens`
             *     and, for tokens of the role `admin`, `metrics`.
             */
            scopes?: string[] | null;
            /**
             * Format: int64
             * @description The lifetime; if absent, unlimited, or that of your own token.
             */
            expires_in_ms?: number | null;
            /** @description The owner of the token; only operators may name others. */
            owner?: string | null;
        };
        /**
         * @description The arguments of a tool, as its schema in `GET /v1/tools` describes them.
         * @example {}
         */
        ToolArguments: {
            [key: string]: unknown;
        };
        /** @description The result of a tool call. */
        ToolCallOutput: {
            /** @description The text that the model gets. The whole output is in the log of the execution. */
            text: string;
            /** @description Whether the tool failed. */
            is_error?: boolean;
            /** @description The same result for programs, by the schema of the tool. */
            structured?: unknown;
            image?: components["schemas"]["Attachment"] | null;
        };
        /** @description The newest output of a program that a tool waits for. */
        ToolCallProgress: {
            /**
             * Format: int64
             * @description The bytes that the programs of the call have printed so far.
             */
            bytes: number;
            /** @description The last complete lines, without control sequences, with secrets masked. */
            lines: string;
            execution_id?: components["schemas"]["ExecutionId"] | null;
        };
        /** @description An event for a tool card. */
        ToolCallStartEvent: {
            /**
             * @description `TOOL_CALL_START`, `CODE_EXECUTION_OUTPUT` or `TOOL_RESULT`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "TOOL_CALL_START";
            /** @description The conversation, if the call belongs to one. */
            thread_id?: string | null;
            /** @description When it happened. */
            timestamp: components["schemas"]["Timestamp"];
            /** @description A call was started. */
            payload: {
                /** @description Always `TOOL_CALL_START`. */
                type: string;
                /** @description The call's id, or the execution's id. */
                id: string;
                /** @description The tool: `code_execution`, `run_command`, `runCommand`, `build` or `change_packages`. */
                tool_name: string;
                /** @description The arguments of the tool. */
                tool_args: Record<string, never>;
                /** @description The conversation, if it belongs to one. */
                thread_id?: string | null;
                /** @description When the program started. */
                timestamp: components["schemas"]["Timestamp"];
                /** @description The execution, for its routes. */
                execution_id?: string | null;
            };
        };
        /**
         * @description Where a tool call stands. Every view shows this state and decides nothing itself.
         * @enum {string}
         */
        ToolCallState: "writing" | "ready" | "waiting" | "running" | "succeeded" | "failed" | "denied" | "stopped";
        /** @description An event of a tool call: its start, a piece of its output, or its result. */
        ToolEvent: components["schemas"]["ToolCallStartEvent"] | components["schemas"]["CodeExecutionOutputEvent"] | components["schemas"]["ToolResultEvent"];
        /** @description The data of an event of a tool's stream: `progress` events, and one `result` at the end. */
        ToolEvents: components["schemas"]["ToolCallProgress"] | components["schemas"]["ToolOutcome"];
        /** @description An image, for a model. */
        ToolImage: {
            /** @description For example `image/png`. */
            media_type: string;
            /** @description The file, in base64. */
            data: string;
        };
        /** @description All tools. */
        ToolList: {
            /** @description The tools in the requested shape, ready for the field `tools` of a request to a model. */
            tools: Record<string, never>[];
        };
        /**
         * @description The result of a tool, for a model.
         * @example {
         *       "content": "Wall time: 0.0121 seconds\nProcess exited with code 0\nOutput:\nHello\n",
         *       "duration_ms": 13,
         *       "execution_ids": [
         *         "exe_0123456789abcdef0123456789abcdef"
         *       ],
         *       "is_error": false,
         *       "session_id": "ses_0123456789abcdef0123456789abcdef",
         *       "structured": {
         *         "exit_code": 0,
         *         "wall_time_seconds": 0.0121
         *       }
         *     }
         */
        ToolOutcome: {
            /** @description The text for the model. */
            content: string;
            /** @description Whether the tool failed. A program that exits with an error is not a failure of the tool. */
            is_error: boolean;
            /** @description The same result for programs. Its `output` is the whole `content`. */
            structured?: Record<string, never> | null;
            image?: components["schemas"]["ToolImage"] | null;
            /** @description The executions that the result is about. */
            execution_ids: components["schemas"]["ExecutionId"][];
            /** @description The session that the tool worked in. */
            session_id: components["schemas"]["SessionId"];
            /**
             * Format: int64
             * @description How long the call took.
             */
            duration_ms: number;
        };
        /** @description The output and exit code of a tool call. */
        ToolOutput: {
            /**
             * Format: int32
             * @description The exit code of the program; 128 plus the signal's number if a signal ended it; -99 after a timeout;
             *     -100 if the command or runtime does not exist; -101 if the program could not be started for another
             *     reason, or its end is unknown.
             */
            exit_code: number;
            /** @description A description of the error, if the exit code does not say enough. */
            error?: string | null;
            /**
             * @description The standard output (or the output of the terminal) as text. After `maxBuffer`, or 16 MiB, a note replaces the
             *     rest.
             */
            stdout: string;
            /**
             * @description The standard error, with the same limit. After a timeout, and for the exit codes -100 and -101, it ends with a
             *     line that says why.
             */
            stderr: string;
            /** @description Whether a part of the output is missing here. */
            truncated: boolean;
            /** @description The URL of the whole output, as far as it is kept. */
            output_url?: string | null;
        };
        /**
         * @description The source of a text.
         * @enum {string}
         */
        ToolOutputSource: "stdout" | "stderr" | "timeout" | "error";
        /** @description An event of the stream. */
        ToolProgress: {
            /** @description Always `tool-progress`. */
            type: string;
            /** @description The call's id, or the execution's id. */
            toolCallId: string;
            /** @description The update. */
            progress: components["schemas"]["ProgressUpdate"];
        };
        /** @description The result of a tool call. */
        ToolResult: {
            /** @description Always `TOOL_RESULT`. */
            type: string;
            /** @description The id of the call. */
            tool_call_id: string;
            /** @description The tool: `code_execution`, `run_command`, `runCommand`, `build` or `change_packages`. */
            tool_name: string;
            /** @description Whether the program exited with 0. */
            success: boolean;
            /** @description The conversation, if the call belongs to one. */
            thread_id?: string | null;
            /** @description When the call ended. */
            timestamp: components["schemas"]["Timestamp"];
            /** @description The id of the execution; absent if none was created. */
            execution_id?: string | null;
            /** @description The output and exit code. */
            result: components["schemas"]["ToolOutput"];
        };
        /** @description An event for a tool card. */
        ToolResultEvent: {
            /**
             * @description `TOOL_CALL_START`, `CODE_EXECUTION_OUTPUT` or `TOOL_RESULT`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "TOOL_RESULT";
            /** @description The conversation, if the call belongs to one. */
            thread_id?: string | null;
            /** @description When it happened. */
            timestamp: components["schemas"]["Timestamp"];
            payload: components["schemas"]["ToolResult"];
        };
        /**
         * @description The size of a terminal in characters.
         * @example {
         *       "cols": 80,
         *       "rows": 24
         *     }
         */
        TtySize: {
            /**
             * Format: int32
             * @description The number of rows.
             */
            rows: number;
            /**
             * Format: int32
             * @description The number of columns.
             */
            cols: number;
        };
        /** @description A turn: the agent's work between two messages of a person. */
        Turn: {
            /** @description Unique in the conversation. */
            turn_id: string;
            /** @description The model, by its name in the configuration. */
            model?: string | null;
            /**
             * Format: int64
             * @description The event with which it began.
             */
            first_seq: number;
            /**
             * Format: int64
             * @description When it began.
             */
            started_at_ms: number;
            outcome?: components["schemas"]["TurnOutcome"] | null;
            /** @description What went wrong. */
            error?: string | null;
        };
        /** @description A turn that has begun. */
        TurnAccepted: {
            /** @description The turn. */
            turn_id: string;
        };
        /**
         * @description How a turn ended.
         * @enum {string}
         */
        TurnOutcome: "completed" | "stopped" | "failed" | "step_limit";
        /**
         * @description A request of an AI SDK front end, with all messages that it has.
         * @example {
         *       "id": "chat-1",
         *       "messages": [
         *         {
         *           "id": "m1",
         *           "parts": [
         *             {
         *               "text": "Run the tests.",
         *               "type": "text"
         *             }
         *           ],
         *           "role": "user"
         *         }
         *       ],
         *       "trigger": "submit-message"
         *     }
         */
        UiChatRequest: {
            /** @description The conversation. One that does not exist is created. */
            id: components["schemas"]["ConversationId"];
            /** @description Only the last one is used, and only if a person wrote it: the server has its own history. */
            messages?: components["schemas"]["UiMessage"][];
            /** @description What is to be done. */
            trigger?: components["schemas"]["UiTrigger"];
            /** @description The message that is edited, answered again or continued. */
            messageId?: string | null;
            /** @description The model for the answer, by its name in the configuration; that of the conversation if absent. */
            model?: string | null;
            /** @description The session of a conversation that this request creates: its id or its name. */
            session_id?: string | null;
            /** @description How much of the output of running calls is sent. */
            progress?: components["schemas"]["UiProgressMode"];
        };
        /** @description A message, as a client has it. */
        UiMessage: {
            /** @description Its id. Default: `""`. */
            id?: string;
            /** @description `user` or `assistant`. Default: `""`. */
            role?: string;
            /** @description What it consists of. */
            parts?: Record<string, never>[];
            /** @description What the server added to it. */
            metadata?: Record<string, never> | null;
        };
        /** @description An event of a UI message stream. */
        UiMessageEvent: {
            /** @description A chunk of the AI SDK 7 as JSON; at the end `[DONE]`. */
            data: string;
        };
        /**
         * @description How much of the output of running calls is sent.
         * @enum {string}
         */
        UiProgressMode: "full" | "tail" | "none";
        /**
         * @description Why a client sends its messages.
         * @enum {string}
         */
        UiTrigger: "submit-message" | "regenerate-message";
        /** @description The contents of an unpacked archive. */
        UnpackedArchive: {
            /**
             * Format: int64
             * @description The number of files.
             */
            files: number;
            /**
             * Format: int64
             * @description The number of folders.
             */
            folders: number;
            /**
             * Format: int64
             * @description The number of symbolic links.
             */
            links: number;
            /**
             * Format: int64
             * @description The total size of the files.
             */
            bytes: number;
        };
        /**
         * @description The event that ends a stream.
         * @enum {string}
         */
        Until: "exited" | "closed";
        /** @description Resources that a program used. */
        Usage: {
            /**
             * Format: int64
             * @description User and system time of the program and the children that it waited for.
             */
            cpu_ms: number;
            /**
             * Format: int64
             * @description The peak resident size of any one of them.
             */
            max_rss_bytes: number;
        };
        /** @description The limits of what a session uses. `null` means unlimited. */
        UsageLimits: {
            /**
             * Format: int64
             * @description The limit of `used.memory_bytes`.
             */
            memory_bytes?: number | null;
            /**
             * Format: int64
             * @description The limit of `used.pids`.
             */
            pids?: number | null;
            /**
             * Format: int64
             * @description The limit of `used.disk_bytes`.
             */
            disk_bytes?: number | null;
        };
        /** @description A user as the API returns it, without the password. */
        User: {
            /** @description `usr_` and 32 hexadecimal digits. */
            id: string;
            /** @description The name in lower case. It is the owner of everything that belongs to the user. */
            name: string;
            /**
             * @description The role of a user or token.
             * @enum {string}
             */
            role: "admin" | "member" | "reader";
            /** @description Whether the user and all of its tokens are refused. */
            disabled: boolean;
            /** @description Whether the user can sign in with a password. */
            has_password: boolean;
            created_at: components["schemas"]["Timestamp"];
        };
        /** @description A page of a list. */
        UserPage: {
            /** @description The items of this page. */
            items: components["schemas"]["User"][];
            /** @description The cursor of the next page (`cursor=`); absent on the last page. */
            next_cursor?: string | null;
        };
        /**
         * @description Changes to a user. Absent fields keep their value.
         * @example {
         *       "current_password": "correct horse battery",
         *       "password": "a better password"
         *     }
         */
        UserPatch: {
            /** @description The new password. Ends all sign-ins of the user. */
            password?: string | null;
            /** @description The current password, required to change one's own. */
            current_password?: string | null;
            /** @description The new role; only for operators. */
            role?: ("admin" | "member" | "reader") | null;
            /**
             * @description Whether the user is disabled; only for operators. Disabling ends all sign-ins and refuses all tokens
             *     of the user.
             */
            disabled?: boolean | null;
        };
        /**
         * @description A request for a user.
         * @example {
         *       "name": "ann",
         *       "password": "correct horse battery",
         *       "role": "member"
         *     }
         */
        UserRequest: {
            /** @description Letters, digits and `._@+-`; case does not matter. */
            name: string;
            /** @description At least 8 characters; without a password, the user cannot sign in with one. */
            password?: string | null;
            /** @description The role: `member` if absent. */
            role?: ("admin" | "member" | "reader") | null;
            /** @description Take over sessions that already belong to this name. Otherwise such a name is refused. */
            take_over?: boolean | null;
        };
        /**
         * @description A file to write.
         * @example {
         *       "content": "print('Hello')\n",
         *       "path": "/src/main.py",
         *       "session_id": "demo"
         *     }
         */
        WriteRequest: {
            /** @description The session's id or name. */
            session_id: string;
            /** @description The path in the workspace: `/src/main.py` and `/workspace/src/main.py` are the same file. */
            path: string;
            /** @description The content, if it is text. */
            content?: string | null;
            /** @description The content as base64, if it is not text. */
            base64?: string | null;
            encoding?: components["schemas"]["PathEncoding"] | null;
        };
        /** @description The written file. */
        WrittenFile: {
            /** @description The path as requested. */
            path: string;
            /** @description Always `success`. */
            status: string;
            /**
             * Format: int64
             * @description The file's size in bytes.
             */
            size: number;
            /** @description When it was written. */
            modified: components["schemas"]["Timestamp"];
            /** @description Identifies this version of the file. */
            etag: string;
        };
    };
    responses: {
        /** @description the prefix of an id matches several sessions */
        Ambiguous: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the request is not valid */
        BadRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the body is too large */
        BodyTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the state of the object does not allow this */
        Conflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the disk is full */
        DiskFull: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description it exceeds the session's disk limit */
        DiskLimit: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the credential, or the origin of the page, does not allow this */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description a bug in the server */
        Internal: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the key was used before with another request */
        KeyReused: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the server does not have the name in `Host` */
        Misdirected: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description it does not exist, or it belongs to somebody else */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the session has ended */
        SessionEnded: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description too many requests, or a quota is reached */
        TooManyRequests: {
            headers: {
                /** @description seconds to wait before the next attempt */
                "Retry-After"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description no credential, or one that is not valid */
        Unauthorized: {
            headers: {
                /** @description `Bearer` */
                "WWW-Authenticate"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the server cannot do this now */
        Unavailable: {
            headers: {
                /** @description seconds to wait before the next attempt */
                "Retry-After"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description the body is not JSON */
        UnsupportedMediaType: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description `ok` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
        };
    };
    openLoginLink: {
        parameters: {
            query?: {
                /** @description An API token, or the token of a share link. */
                token?: string | null;
                /** @description The page to open then, as a path of this server; the home page by default. */
                next?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the cookie was set */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenMetrics */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getOpenapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the OpenAPI document */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description `ready` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            /** @description the store or the worker does not respond */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    followToolProgress: {
        parameters: {
            query?: {
                /**
                 * @description The position to continue after: the `id` of an event, which is opaque, or `now` for new events only.
                 *     If absent, the stream starts with the first call. The header `Last-Event-ID` takes precedence.
                 */
                after?: string;
                /**
                 * @description After a call's first output, hold its output back for up to this long to send fewer, larger events:
                 *     100 if absent.
                 */
                batch_ms?: number;
                /** @description Send held-back output early once this many bytes have accumulated: 4096 if absent. */
                batch_bytes?: number;
                /** @description A token or ticket, where no header can be set. The guard has read it. */
                token?: string;
            };
            header?: {
                /** @description Continue after this event; takes precedence over `after`. */
                "Last-Event-ID"?: string | null;
            };
            path: {
                /** @description as in the metadata of executions */
                conversation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["ToolProgress"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listAuditRows: {
        parameters: {
            query?: {
                /** @description The maximum number of rows on a page: 100 if absent. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string;
                /** @description Only rows of this owner; for the operator. */
                owner?: string;
                /** @description Only rows with this action. */
                action?: string;
                /** @description Only rows about this object. */
                object?: string;
                /** @description Only rows with this result. */
                result?: string;
                /** @description Only at this time or later, in milliseconds since 1970. */
                since_ms?: number;
                /** @description Only before this time, in milliseconds since 1970. */
                until_ms?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of a list. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditRowPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    exportAuditRows: {
        parameters: {
            query?: {
                /** @description Only rows of this owner; for the operator. */
                owner?: string;
                /** @description Only at this time or later, in milliseconds since 1970. */
                since_ms?: number;
                /** @description Only before this time, in milliseconds since 1970. */
                until_ms?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the rows, one JSON object a line */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getBuild: {
        parameters: {
            query?: {
                /** @description Wait for the end of the build for up to this long (`10s`, `500ms`, `1m`), at most a minute. */
                wait?: string;
            };
            header?: never;
            path: {
                /** @description the build */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A build and its result. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Build"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    cancelBuild: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the build */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it is being cancelled */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    sendUiMessage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UiChatRequest"];
            };
        };
        responses: {
            /** @description the UI message stream: chunks of the AI SDK as events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["UiMessageEvent"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["DiskLimit"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    saveChatExecution: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SaveExecutionRequest"];
            };
        };
        responses: {
            /** @description A result of an execution that a chat's client ran. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getChatExecutions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the message, by the client's id */
                message_uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The results of a message. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionHistory"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    openUiSocket: {
        parameters: {
            query?: {
                /** @description Any value: marks a reconnection, which a ticket requires. */
                after?: string;
                /** @description A token or ticket, where no header can be set. The guard has read it. */
                token?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the socket is open */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            /** @description the request is not an upgrade to a WebSocket */
            426: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    stopUiStream: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        /** @description optional */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["StopUiStreamRequest"] | null;
            };
        };
        responses: {
            /** @description What became of a request to stop. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stop"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    resumeUiStream: {
        parameters: {
            query?: {
                /** @description How much of the output of running calls is sent: `full` if absent. */
                progress?: components["schemas"]["UiProgressMode"];
                /** @description Only what comes after this `id` of the stream, for a client that keeps the response: `resumeStreamIsReplay: false`. */
                after?: number;
                /** @description A token or ticket, where no header can be set. The guard has read it. */
                token?: string;
            };
            header?: {
                /** @description Continue after this event; takes precedence over `after`. */
                "Last-Event-ID"?: string | null;
            };
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the UI message stream: chunks of the AI SDK as events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["UiMessageEvent"];
                };
            };
            /** @description no turn runs */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listConversations: {
        parameters: {
            query?: {
                /** @description The maximum number of conversations on a page: 100 if absent. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string;
                /**
                 * @description Only conversations with all these words in the title or in one message. Each word may be the beginning of a longer
                 *     one; case and accents make no difference. At most 200 characters.
                 */
                q?: string;
                /** @description Whether they are archived; both if absent. */
                archived?: boolean;
                /** @description Only conversations of sub-agents of this one. */
                parent_id?: string;
                /** @description Conversations of others that are shared with you, instead of your own. */
                shared?: boolean;
                /** @description Conversations of this owner instead of your own. For operators. */
                owner?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of a list. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    createConversation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description optional */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ConversationRequest"] | null;
            };
        };
        responses: {
            /** @description A conversation with an agent. */
            201: {
                headers: {
                    /** @description the URL of the conversation */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the id is taken */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    followConversation: {
        parameters: {
            query?: {
                /** @description The format of the events: `native` if absent. */
                dialect?: "native" | "tool_calls" | "tool_calls_flat" | "tool_progress";
                /**
                 * @description The position to continue after: the `id` of an event, which is opaque, or `now` for new events only.
                 *     If absent, the feed starts with the first execution. The header `Last-Event-ID` takes precedence.
                 */
                after?: string;
                /**
                 * @description After an execution's first output, hold its output back for up to this long to send fewer, larger
                 *     events: 100 if absent; 0 sends everything immediately.
                 */
                batch_ms?: number;
                /** @description Send held-back output early once this many bytes have accumulated: 4096 if absent. */
                batch_bytes?: number;
                /** @description A token or ticket, where no header can be set. The guard has read it. */
                token?: string;
            };
            header?: {
                /** @description Continue after this event; takes precedence over `after`. */
                "Last-Event-ID"?: string | null;
            };
            path: {
                /** @description as in the metadata of executions */
                conversation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Event"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getConversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A conversation with its messages. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationDetail"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    deleteConversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it was deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    updateConversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ConversationPatch"] | null;
            };
        };
        responses: {
            /** @description A conversation with an agent. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    answerQuestions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
                /** @description the call */
                tool_call_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnswersRequest"];
            };
        };
        responses: {
            /** @description Questions of an agent to a person. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InputRequest"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    answerApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
                /** @description the request */
                approval_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ApprovalRequest"];
            };
        };
        responses: {
            /** @description A person's consent to one command. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    addAttachment: {
        parameters: {
            query: {
                /** @description The name of the file, without folders. */
                name: string;
            };
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        /** @description any bytes */
        requestBody: {
            content: {
                "application/octet-stream": number[];
            };
        };
        responses: {
            /** @description A file of the workspace. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Attachment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["DiskLimit"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    selectBranch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessageRef"];
            };
        };
        responses: {
            /** @description The current branch. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Branch"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    exportConversation: {
        parameters: {
            query?: {
                /**
                 * @description `markdown` (the default): the current branch, to read. `json`: the messages of all branches, and the log. `ipynb`: the current
                 *     branch as a Jupyter notebook, whose cells are the code that ran and its outputs.
                 */
                format?: "markdown" | "json" | "ipynb";
            };
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the file, as an attachment with a name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/markdown; charset=utf-8": string;
                    "application/json": Record<string, never>;
                    "application/x-ipynb+json": Record<string, never>;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    followConversationLog: {
        parameters: {
            query?: {
                /**
                 * @description Events after this `seq`, which must not be after the last one; 0 or absent: all. The header `Last-Event-ID` takes
                 *     precedence.
                 */
                after?: number;
                /** @description The maximum number of events on a page: 1000 if absent. A stream has no pages. */
                limit?: number;
                /** @description A token or ticket, where no header can be set. The guard has read it. */
                token?: string;
            };
            header?: {
                /** @description Continue after this event; takes precedence over `after`. */
                "Last-Event-ID"?: string | null;
                /** @description `text/event-stream` for a stream */
                Accept?: string | null;
            };
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the events, or the stream if requested */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogPage"];
                    "text/event-stream": components["schemas"]["LogEntry"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listConversationMembers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An owner and the members. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    setConversationMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
                /** @description id or name */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemberRequest"];
            };
        };
        responses: {
            /** @description A member. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the user is the owner, or there are too many members */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    removeConversationMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
                /** @description id or name */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it was removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    sendMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessageRequest"];
            };
        };
        responses: {
            /** @description A message that was accepted. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageAccepted"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    withdrawMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
                /** @description the message */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the agent does not get it */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    regenerateAnswer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessageRef"];
            };
        };
        responses: {
            /** @description A turn that has begun. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TurnAccepted"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listConversationShares: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All links to a conversation. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationShareList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    createConversationShare: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ShareRequest"];
            };
        };
        responses: {
            /** @description A link to a conversation. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationShare"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description it has too many links */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    revokeConversationShare: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
                /** @description the link's id */
                share: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it was revoked */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    stopTurn: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What became of a request to stop. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stop"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    checkHost: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What the host can isolate and limit. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DoctorReport"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listExecutions: {
        parameters: {
            query?: {
                /** @description Only executions of this session: its id, its name or a unique prefix of its id. */
                session_id?: string;
                /** @description Only executions in this state. */
                state?: components["schemas"]["ExecutionStateName"];
                /** @description Only executions that ended in this way. Executions that have not ended have no outcome. */
                outcome?: "succeeded" | "failed";
                /** @description Only executions that were started in this way. */
                kind?: "shell" | "program" | "code" | "terminal";
                /** @description Only executions of code in this language. */
                language?: string;
                /**
                 * @description Only executions with this text in the first 16 KiB of the command or in the name of the session; or, if it
                 *     begins with `exe_` or `ses_`, at the beginning of their id or of the session's. Case and the amount of white
                 *     space make no difference. A search looks at a bounded number of executions for each page, so a page may be
                 *     empty and still have a `next_cursor`.
                 */
                q?: string;
                /** @description Only executions in sessions of this owner. Operators see the executions of all owners, others only their own. */
                owner?: string;
                /** @description Only executions whose metadata has this `conversation_id`. */
                conversation_id?: string;
                /** @description Only executions that were accepted at this time or later. */
                started_after?: string;
                /** @description Only executions that were accepted before this time. */
                started_before?: string;
                /** @description The maximum number of executions on a page: 100 if absent. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of a list. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description no such session */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    startExecution: {
        parameters: {
            query?: {
                /**
                 * @description Events after this `seq`, which must not be after the last one; 0 or absent: all. The header
                 *     `Last-Event-ID` takes precedence.
                 */
                after?: number;
                /**
                 * @description Start about this many bytes before the end of the output. The skipped part is reported as a gap.
                 *     Ignored if the stream continues (`Last-Event-ID`).
                 */
                tail?: number;
                /**
                 * @description Output of these streams only: `stdout`, `stderr`, `output`, separated by commas. Other events are
                 *     always sent.
                 */
                streams?: string;
                /** @description The event that ends the stream: `closed` if absent. */
                until?: components["schemas"]["Until"];
                /**
                 * @description Send output at most this often, in fewer and larger events: 100 if absent; 0 sends everything immediately.
                 *     The first output after a pause of this length is sent at once.
                 */
                batch_ms?: number;
                /** @description Send held-back output early once this many bytes have accumulated: 4096 if absent. */
                batch_bytes?: number;
                /**
                 * @description Receive every byte: output that was not sent yet is not dropped, and the program waits for this reader
                 *     as for the reader of a pipe. Requires write access to the session. The wait is limited by
                 *     `lossless_hold` in the configuration.
                 */
                lossless?: boolean;
                /** @description A token or ticket, where no header can be set. The guard has read it. */
                token?: string;
            };
            header?: {
                /** @description A request that is sent again with the same key is carried out once. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartRequest"];
            };
        };
        responses: {
            /** @description its events, with `Accept: text/event-stream` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Event"];
                };
            };
            /** @description One run of a program in a session. */
            201: {
                headers: {
                    /** @description the URL of the execution */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getExecution: {
        parameters: {
            query?: {
                /** @description Wait for the end for up to this long (`10s`, `500ms`, `1m`), at most a minute. */
                wait?: string;
                /** @description The end to wait for: `exited` if absent. */
                until?: components["schemas"]["Until"];
            };
            header?: never;
            path: {
                /** @description the execution */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the execution; `state` says whether it has ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    deleteExecution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the execution */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it was removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description it is not closed */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    attachToExecution: {
        parameters: {
            query?: {
                /** @description Events after this `seq`, which must not be after the last one; 0 or absent: all. */
                after?: number;
                /**
                 * @description Skip this many bytes of output after `after`: for a client with credits that has already received part
                 *     of an event.
                 */
                skip?: number;
                /** @description Start about this many bytes before the end of the output. The skipped part is reported as a gap. */
                tail?: number;
                /**
                 * @description The format of the server's frames: `binary` if absent. `events` are text frames, each the JSON of an
                 *     event.
                 */
                frames?: "binary" | "events";
                /**
                 * @deprecated
                 * @description Deprecated: use `frames`; `json` means `events`.
                 */
                mode?: "binary" | "json";
                /** @description Read-only: input is refused. */
                read_only?: boolean;
                /** @description The event after which the socket is closed: `closed` if absent. */
                until?: components["schemas"]["Until"];
                /** @description Receive every byte, as in `GET /v1/executions/{id}/events`. Requires write access to the session. */
                lossless?: boolean;
                /** @description A token or ticket, where no header can be set. The guard has read it. */
                token?: string;
            };
            header?: never;
            path: {
                /** @description the execution */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the socket is open */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            /** @description not a WebSocket request */
            426: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    cancelExecution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the execution */
                id: string;
            };
            cookie?: never;
        };
        /** @description optional */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CancelRequest"] | null;
            };
        };
        responses: {
            /** @description it is being cancelled */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    followExecution: {
        parameters: {
            query?: {
                /**
                 * @description Events after this `seq`, which must not be after the last one; 0 or absent: all. The header
                 *     `Last-Event-ID` takes precedence.
                 */
                after?: number;
                /**
                 * @description Start about this many bytes before the end of the output. The skipped part is reported as a gap.
                 *     Ignored if the stream continues (`Last-Event-ID`).
                 */
                tail?: number;
                /**
                 * @description Output of these streams only: `stdout`, `stderr`, `output`, separated by commas. Other events are
                 *     always sent.
                 */
                streams?: string;
                /** @description The event that ends the stream: `closed` if absent. */
                until?: components["schemas"]["Until"];
                /**
                 * @description Send output at most this often, in fewer and larger events: 100 if absent; 0 sends everything immediately.
                 *     The first output after a pause of this length is sent at once.
                 */
                batch_ms?: number;
                /** @description Send held-back output early once this many bytes have accumulated: 4096 if absent. */
                batch_bytes?: number;
                /**
                 * @description Receive every byte: output that was not sent yet is not dropped, and the program waits for this reader
                 *     as for the reader of a pipe. Requires write access to the session. The wait is limited by
                 *     `lossless_hold` in the configuration.
                 */
                lossless?: boolean;
                /** @description A token or ticket, where no header can be set. The guard has read it. */
                token?: string;
            };
            header?: {
                /** @description continue after this `seq`; takes precedence over `after` */
                "Last-Event-ID"?: number | null;
            };
            path: {
                /** @description the execution */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the events; the body ends after the one that `until` names */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Event"];
                };
            };
            /** @description `Last-Event-ID` is the last event: nothing will follow */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the log was removed */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getExecutionOutput: {
        parameters: {
            query?: {
                /** @description Selects bytes of the output: `merged` (all, in the order in which they were written) if absent. */
                stream?: "stdout" | "stderr" | "output" | "merged";
                /** @description Continue with new output until no writer is left. Has neither ranges nor a length. */
                follow?: boolean;
                /**
                 * @description With `follow`: receive every byte, as in `GET /v1/executions/{id}/events`. Requires write access to
                 *     the session.
                 */
                lossless?: boolean;
            };
            header?: {
                /** @description one range of bytes */
                Range?: string | null;
                /** @description apply `Range` only if this `ETag` is current */
                "If-Range"?: string | null;
                /** @description an `ETag` that the client has */
                "If-None-Match"?: string | null;
            };
            path: {
                /** @description the execution */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description all bytes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": number[];
                    "text/plain": string;
                };
            };
            /** @description the range */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": number[];
                    "text/plain": string;
                };
            };
            /** @description not modified */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the log was removed */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description the range has no bytes, or crosses the gap */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listExecutionProcesses: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the execution */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description empty if it has ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProcessList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getExecutionRecording: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the execution */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description lines of JSON */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-asciicast": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            /** @description the log was removed */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    rerunExecution: {
        parameters: {
            query?: never;
            header?: {
                /** @description A request that is sent again with the same key is carried out once. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description the execution */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One run of a program in a session. */
            201: {
                headers: {
                    /** @description the URL of the new execution */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description its command is no longer kept in full */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    resizeExecution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the execution */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResizeRequest"];
            };
        };
        responses: {
            /** @description the terminal was resized */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description it has no terminal */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    signalExecution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the execution */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignalRequest"];
            };
        };
        responses: {
            /** @description the signal was sent */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description it has ended */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    writeExecutionInput: {
        parameters: {
            query?: {
                /** @description Whether to close the input after this body. */
                eof?: boolean;
                /**
                 * @description The position of the first byte in the input: bytes that the program already has are skipped, so that
                 *     the same request can be sent again. At the end if absent.
                 */
                offset?: number;
            };
            header?: never;
            path: {
                /** @description the execution */
                id: string;
            };
            cookie?: never;
        };
        /** @description any bytes */
        requestBody: {
            content: {
                "application/octet-stream": number[];
            };
        };
        responses: {
            /** @description all bytes were written */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description its standard input is closed */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description the body is larger than `max_body` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getServerInfo: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer to `GET /v1/info`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerInfo"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listLanguages: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer to `GET /v1/languages`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LanguageList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    signIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInRequest"];
            };
        };
        responses: {
            /** @description The tokens of a sign-in. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedIn"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    refreshSignIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefreshRequest"];
            };
        };
        responses: {
            /** @description The tokens of a sign-in. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedIn"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    signOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SignOutRequest"] | null;
            };
        };
        responses: {
            /** @description signed out */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description API tokens and links cannot sign out */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getCaller: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Caller"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listModels: {
        parameters: {
            query?: {
                /** @description Check whether they can be reached, unless that was checked within the last minute. */
                check?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The models of the configuration. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    pruneLogs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PruneRequest"];
            };
        };
        responses: {
            /** @description The logs that were removed, or would be. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PrunedLogs"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description no such session */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listSessions: {
        parameters: {
            query?: {
                /** @description The maximum number of sessions on a page: 100 if absent. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string;
                /** @description Only sessions in this state. */
                state?: components["schemas"]["SessionStateName"];
                /** @description Whether they have ended: `false` selects those that are `ready` or `hibernated`. */
                ended?: boolean;
                /** @description Only sessions with exactly this name. */
                name?: string;
                /**
                 * @description Only sessions with this text in the name, in a value of the metadata or in the owner's name, or at the beginning
                 *     of the id. Case makes no difference for ASCII letters. At most 200 characters.
                 */
                q?: string;
                /** @description Sessions of others that are shared with you, instead of your own. */
                shared?: boolean;
                /** @description Only sessions of this owner. Operators see the sessions of all owners, others only their own. */
                owner?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of a list. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    createSession: {
        parameters: {
            query?: never;
            header?: {
                /** @description A request that is sent again with the same key is carried out once. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        /** @description optional */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SessionRequest"] | null;
            };
        };
        responses: {
            /** @description A workspace with its own sandbox, in which executions run. */
            201: {
                headers: {
                    /** @description the URL of the session */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description another live session of yours has this name */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    buildCpp: {
        parameters: {
            query?: never;
            header?: {
                /** @description A request that is sent again with the same key is carried out once. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CppRequest"];
            };
        };
        responses: {
            /** @description A build and its result. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Build"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description no such session, or no such source */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description the session has ended, or the output cannot be written */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    executeBinary: {
        parameters: {
            query?: never;
            header?: {
                /** @description A request that is sent again with the same key is carried out once. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BinaryRequest"];
            };
        };
        responses: {
            /** @description The started execution. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedExecution"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    executeCode: {
        parameters: {
            query?: never;
            header?: {
                /** @description A request that is sent again with the same key is carried out once. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description a language of `GET /v1/languages` */
                language: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExecuteRequest"];
            };
        };
        responses: {
            /** @description The started execution. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedExecution"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getExecutionStatus: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The status of an execution, with its output as text. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listDirectory: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ListRequest"];
            };
        };
        responses: {
            /** @description The entries of a folder; written by `Listing`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DirectoryListing"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description it is not a folder */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    readTextFile: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReadRequest"];
            };
        };
        responses: {
            /** @description A file's content; written by `FileResponse`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TextFile"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description it is not an ordinary file */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description it was truncated while it was read */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description it is too large for JSON */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    writeTextFile: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WriteRequest"];
            };
        };
        responses: {
            /** @description The written file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenFile"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the path is not an ordinary file */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description the file has changed meanwhile */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            /** @description the host's disk is full */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A workspace with its own sandbox, in which executions run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    deleteSession: {
        parameters: {
            query?: {
                /** @description Keep the executions and their logs: the session stays listed as `ended`. */
                keep_logs?: boolean;
            };
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it was deleted or, with `keep_logs`, has ended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    updateSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SessionPatch"] | null;
            };
        };
        responses: {
            /** @description A workspace with its own sandbox, in which executions run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listBuilds: {
        parameters: {
            query?: {
                /** @description The maximum number of items on a page: 100 if absent. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of a list. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BuildPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    createBuild: {
        parameters: {
            query?: never;
            header?: {
                /** @description A request that is sent again with the same key is carried out once. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BuildRequest"];
            };
        };
        responses: {
            /** @description A build and its result. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Build"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getCompileCommands: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a compilation database */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompileCommand"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    followSession: {
        parameters: {
            query?: {
                /** @description The format of the events: `native` if absent. */
                dialect?: "native" | "tool_calls" | "tool_calls_flat" | "tool_progress";
                /**
                 * @description The position to continue after: the `id` of an event, which is opaque, or `now` for new events only.
                 *     If absent, the feed starts with the first execution. The header `Last-Event-ID` takes precedence.
                 */
                after?: string;
                /**
                 * @description After an execution's first output, hold its output back for up to this long to send fewer, larger
                 *     events: 100 if absent; 0 sends everything immediately.
                 */
                batch_ms?: number;
                /** @description Send held-back output early once this many bytes have accumulated: 4096 if absent. */
                batch_bytes?: number;
                /** @description A token or ticket, where no header can be set. The guard has read it. */
                token?: string;
            };
            header?: {
                /** @description Continue after this event; takes precedence over `after`. */
                "Last-Event-ID"?: string | null;
            };
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Event"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    startExecutionInSession: {
        parameters: {
            query?: {
                /**
                 * @description Events after this `seq`, which must not be after the last one; 0 or absent: all. The header
                 *     `Last-Event-ID` takes precedence.
                 */
                after?: number;
                /**
                 * @description Start about this many bytes before the end of the output. The skipped part is reported as a gap.
                 *     Ignored if the stream continues (`Last-Event-ID`).
                 */
                tail?: number;
                /**
                 * @description Output of these streams only: `stdout`, `stderr`, `output`, separated by commas. Other events are
                 *     always sent.
                 */
                streams?: string;
                /** @description The event that ends the stream: `closed` if absent. */
                until?: components["schemas"]["Until"];
                /**
                 * @description Send output at most this often, in fewer and larger events: 100 if absent; 0 sends everything immediately.
                 *     The first output after a pause of this length is sent at once.
                 */
                batch_ms?: number;
                /** @description Send held-back output early once this many bytes have accumulated: 4096 if absent. */
                batch_bytes?: number;
                /**
                 * @description Receive every byte: output that was not sent yet is not dropped, and the program waits for this reader
                 *     as for the reader of a pipe. Requires write access to the session. The wait is limited by
                 *     `lossless_hold` in the configuration.
                 */
                lossless?: boolean;
                /** @description A token or ticket, where no header can be set. The guard has read it. */
                token?: string;
            };
            header?: {
                /** @description A request that is sent again with the same key is carried out once. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartRequest"];
            };
        };
        responses: {
            /** @description its events, with `Accept: text/event-stream` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Event"];
                };
            };
            /** @description One run of a program in a session. */
            201: {
                headers: {
                    /** @description the URL of the execution */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listFiles: {
        parameters: {
            query?: {
                /** @description The path of the folder: the workspace itself if absent. */
                path?: string;
                /** @description The encoding of `path`, if it is not plain text. */
                encoding?: components["schemas"]["PathEncoding"];
                /** @description The number of levels: 1 lists the folder, 2 also its direct subfolders. 1 if absent. */
                depth?: number;
                /** @description The maximum number of entries on a page: 100 if absent. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of a list. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FilePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description it is not a folder */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    deleteFile: {
        parameters: {
            query: {
                /** @description The path of the file, link or folder. */
                path: string;
                /** @description The encoding of `path`, if it is not plain text. */
                encoding?: components["schemas"]["PathEncoding"];
                /** @description Remove a folder with its content; otherwise it must be empty. */
                recursive?: boolean;
            };
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it was removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the folder is not empty, or the path goes through a link */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    downloadArchive: {
        parameters: {
            query?: {
                /** @description The path of a folder; the workspace if absent. */
                path?: string;
                /** @description The encoding of `path`, if it is not plain text. */
                encoding?: components["schemas"]["PathEncoding"];
                /**
                 * @description The format. If absent: `tar` for a download; for an upload, what the content shows, else what
                 *     `Content-Type` names, else `tar`.
                 */
                format?: "tar" | "tar.gz" | "zip";
            };
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the archive */
            200: {
                headers: {
                    /** @description FIFOs, sockets and devices that are not in it */
                    "X-Headwater-Left-Out"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/x-tar": string;
                    "application/gzip": string;
                    "application/zip": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description not a folder, too much for one archive, or the session has ended */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    unpackArchive: {
        parameters: {
            query?: {
                /** @description The path of a folder; the workspace if absent. */
                path?: string;
                /** @description The encoding of `path`, if it is not plain text. */
                encoding?: components["schemas"]["PathEncoding"];
                /**
                 * @description The format. If absent: `tar` for a download; for an upload, what the content shows, else what
                 *     `Content-Type` names, else `tar`.
                 */
                format?: "tar" | "tar.gz" | "zip";
            };
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        /** @description the archive */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description The contents of an unpacked archive. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnpackedArchive"];
                };
            };
            /** @description refused */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description an existing file is in the way, or the session has ended */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["DiskLimit"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    importArchive: {
        parameters: {
            query?: {
                /** @description The path of a folder; the workspace if absent. */
                path?: string;
                /** @description The encoding of `path`, if it is not plain text. */
                encoding?: components["schemas"]["PathEncoding"];
                /**
                 * @description The format. If absent: `tar` for a download; for an upload, what the content shows, else what
                 *     `Content-Type` names, else `tar`.
                 */
                format?: "tar" | "tar.gz" | "zip";
            };
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        /** @description the archive */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description The contents of an unpacked archive. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnpackedArchive"];
                };
            };
            /** @description refused */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description an existing file is in the way, or the session has ended */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["DiskLimit"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    changeFileMode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChmodRequest"];
            };
        };
        responses: {
            /** @description the file after the change */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description it is neither a file nor a folder */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    readFile: {
        parameters: {
            query: {
                /** @description The path of the file. */
                path: string;
                /** @description The encoding of `path`, if it is not plain text. */
                encoding?: components["schemas"]["PathEncoding"];
            };
            header?: {
                /** @description one range of bytes */
                Range?: string | null;
                /** @description apply `Range` only if this `ETag` is current */
                "If-Range"?: string | null;
                /** @description an `ETag` that the client has */
                "If-None-Match"?: string | null;
            };
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description all bytes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": number[];
                };
            };
            /** @description the range */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": number[];
                };
            };
            /** @description not modified */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description it is not an ordinary file */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description the range has no bytes */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    writeFile: {
        parameters: {
            query: {
                /** @description The path of the file; missing parent folders are created. */
                path: string;
                /** @description The encoding of `path`, if it is not plain text. */
                encoding?: components["schemas"]["PathEncoding"];
                /** @description `write` (if absent) or `append`. */
                mode?: "write" | "append";
                /** @description Write into the file from this byte on, and leave the rest unchanged. */
                offset?: number;
                /** @description The permissions of the file in octal digits: its current ones, or `644`, if absent. */
                permissions?: string;
            };
            header?: {
                /** @description only if the file has one of these `ETag`s; `*`: only if it exists */
                "If-Match"?: string | null;
                /** @description `*`: only if it does not exist */
                "If-None-Match"?: string | null;
            };
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        /** @description any bytes */
        requestBody: {
            content: {
                "application/octet-stream": number[];
            };
        };
        responses: {
            /** @description it existed before */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            /** @description it was created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the path is not an ordinary file */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description the file is not the expected version */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["DiskLimit"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    copyFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MoveRequest"];
            };
        };
        responses: {
            /** @description The result of a copy. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CopiedFile"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the target exists, or a path goes through a link */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            /** @description the host's disk is full */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    diffFiles: {
        parameters: {
            query?: {
                /** @description The snapshot to compare with; the session's start if absent. */
                snapshot?: string;
                /**
                 * @description Also return a unified diff of text files of up to 1 MiB: of added ones or, compared with a snapshot,
                 *     of all.
                 */
                content?: boolean;
            };
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What differs between two states of a workspace. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileDiff"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    createFolder: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PathRequest"];
            };
        };
        responses: {
            /** @description it existed before */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            /** @description it was created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the path exists and is not a folder */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    moveFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MoveRequest"];
            };
        };
        responses: {
            /** @description the file after the move */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the target exists, or a path goes through a link */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    searchFiles: {
        parameters: {
            query?: {
                /** @description A glob for names, such as `*.py`, or, if it contains a slash, for paths below `path`: `src/**\/test_*`. */
                name?: string;
                /** @description A regular expression for lines. */
                content?: string;
                /** @description The folder to search; the workspace if absent. */
                path?: string;
                /** @description The encoding of `path`, if it is not plain text. */
                encoding?: components["schemas"]["PathEncoding"];
                /** @description Match upper and lower case letters alike. */
                ignore_case?: boolean;
                /** @description The maximum number of matches: 1000 if absent. */
                limit?: number;
                /** @description Include names that begin with a dot. */
                hidden?: boolean;
                /** @description Skip files that `.gitignore` excludes: true if absent. */
                gitignore?: boolean;
                /** @description The timeout in milliseconds: 30000 if absent. */
                timeout_ms?: number;
            };
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All results of a search. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description not a folder, or the session has ended */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getFile: {
        parameters: {
            query?: {
                /** @description The path: the workspace itself if absent. */
                path?: string;
                /** @description The encoding of `path`, if it is not plain text. */
                encoding?: components["schemas"]["PathEncoding"];
            };
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A file, a folder or a link in a workspace. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the path goes through a link */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    watchFiles: {
        parameters: {
            query?: {
                /** @description The path of a folder or a file; the workspace if absent. */
                path?: string;
                /** @description The encoding of `path`, if it is not plain text. */
                encoding?: components["schemas"]["PathEncoding"];
                /** @description Include the folders below it: true if absent. */
                recursive?: boolean;
                /** @description Any value: marks a reconnection, which a ticket requires. Watches have no history, so it begins anew. */
                after?: string;
                /** @description A token or ticket, where no header can be set. The guard has read it. */
                token?: string;
            };
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the socket is open */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description the events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["FileChange"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    forkSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session to copy */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ForkRequest"] | null;
            };
        };
        responses: {
            /** @description A workspace with its own sandbox, in which executions run. */
            201: {
                headers: {
                    /** @description the URL of the session */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    hibernateSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A workspace with its own sandbox, in which executions run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description it has ended, or something is being started in it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listMembers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An owner and the members. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
                /** @description id or name */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A member. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    setMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
                /** @description id or name */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemberRequest"];
            };
        };
        responses: {
            /** @description A member. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the user is the owner, or there are too many members */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    removeMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
                /** @description id or name */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it was removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listNodePackages: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The installed packages. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PackageList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    changeNodePackages: {
        parameters: {
            query?: never;
            header?: {
                /** @description A request that is sent again with the same key is carried out once. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NodeRequest"];
            };
        };
        responses: {
            /** @description the execution that makes the change */
            201: {
                headers: {
                    /** @description the URL of the execution */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the session has ended, or cannot reach a registry */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listPorts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The ports of a session. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PortList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    createPreview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PreviewRequest"];
            };
        };
        responses: {
            /** @description A preview of a port. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Preview"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description no name for previews is configured, or the session has ended */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getPythonEnvironment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A session's virtual environment. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PythonEnvironment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    createPythonEnvironment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it exists */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PythonEnvironment"];
                };
            };
            /** @description this execution creates it */
            201: {
                headers: {
                    /** @description the URL of the execution */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PythonEnvironment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listPythonPackages: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The installed packages. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PackageList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    changePythonPackages: {
        parameters: {
            query?: never;
            header?: {
                /** @description A request that is sent again with the same key is carried out once. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PythonRequest"];
            };
        };
        responses: {
            /** @description the execution that makes the change */
            201: {
                headers: {
                    /** @description the URL of the execution */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the session has ended, or cannot reach a registry */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listRules: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The rules of a session. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    deleteRule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
                /** @description the rule's number */
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it was removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listShares: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All links of a session. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    createShare: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ShareRequest"];
            };
        };
        responses: {
            /** @description A link to a session. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Share"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description it has too many links */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    revokeShare: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
                /** @description the link's id */
                share: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it was revoked */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listSnapshots: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The snapshots of a session, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SnapshotList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    createSnapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SnapshotRequest"] | null;
            };
        };
        responses: {
            /** @description A snapshot of a workspace. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Snapshot"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description the session has 32 snapshots, or has ended */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            /** @description the host's disk is full */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteSnapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
                /** @description the snapshot */
                snapshot: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it was removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    restoreSnapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
                /** @description the snapshot */
                snapshot: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A snapshot of a workspace. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Snapshot"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            /** @description it exceeds the session's disk limit */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    openTerminal: {
        parameters: {
            query?: {
                /** @description The terminal's name: `main` if absent. */
                name?: string;
                /** @description The viewer's rows; for a new terminal, 24 if absent. */
                rows?: number;
                /** @description The viewer's columns; for a new terminal, 80 if absent. */
                cols?: number;
                /** @description Continue after this `seq`. If absent, begin with the current screen. */
                after?: number;
                /**
                 * @description Skip this many bytes of output after `after`: for a client with credits that has already received part
                 *     of an event.
                 */
                skip?: number;
                /**
                 * @description The terminal that `after` refers to. If its name now belongs to another one, the screen is sent
                 *     instead.
                 */
                execution_id?: string;
                /** @description Read-only: input is refused. */
                read_only?: boolean;
                /**
                 * @deprecated
                 * @description Deprecated: use `read_only`.
                 */
                readonly?: boolean;
                /**
                 * @description The format of the server's frames: `json`, the messages of editors, if absent. `events` and `binary` are
                 *     those of `attach`.
                 */
                frames?: "json" | "events" | "binary";
                /**
                 * @description With `frames=json`: whether the output of executions that `POST /v1/sessions/execute/...` starts in the
                 *     session is sent, too. `true` if absent.
                 */
                executions?: boolean;
                /** @description A token or ticket, where no header can be set. The guard has read it. */
                token?: string;
            };
            header?: never;
            path: {
                /** @description the session, or its name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the socket is open */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            /** @description not a WebSocket request */
            426: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listTerminals: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session, or its name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The terminals of a session. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TerminalList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    createTerminal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session, or its name */
                id: string;
            };
            cookie?: never;
        };
        /** @description optional */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TerminalRequest"] | null;
            };
        };
        responses: {
            /** @description it is already running, and was not changed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Terminal"];
                };
            };
            /** @description A terminal of a session. */
            201: {
                headers: {
                    /** @description its execution */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Terminal"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    deleteTerminal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session, or its name */
                id: string;
                /** @description the terminal */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it has ended, or is ending */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getTerminalScreen: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session, or its name */
                id: string;
                /** @description the terminal */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The screen of a terminal. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TerminalScreen"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            /** @description the log was removed */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listToolCalls: {
        parameters: {
            query?: {
                /** @description The maximum number of items on a page: 100 if absent. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of a list. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordedToolCallPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getSessionUsage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What a session uses now, and its limits. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionUsage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["SessionEnded"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All settings. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Settings"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listTemplates: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The templates. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    createTicket: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A ticket, for `?token=`. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ticket"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listTokens: {
        parameters: {
            query?: {
                /** @description The maximum number of items on a page: 100 if absent. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of a list. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    createToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TokenRequest"] | null;
            };
        };
        responses: {
            /** @description A token, without its secret. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description no such session */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description the owner has too many tokens, or a prefix of an id is ambiguous */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the token's id */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it was revoked */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listTools: {
        parameters: {
            query?: {
                /** @description The shape of the tools: `mcp` if absent. */
                format?: "openai" | "openai_chat" | "anthropic" | "mcp";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All tools. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    runCodeExecutionTool: {
        parameters: {
            query?: {
                /** @description The format of the events: `tool_calls` if absent. */
                dialect?: "tool_calls" | "tool_calls_flat";
            };
            header?: {
                /** @description A request that is sent again with the same key is carried out once. */
                "Idempotency-Key"?: string | null;
                /** @description `text/event-stream` for a stream */
                Accept?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CodeExecutionRequest"];
            };
        };
        responses: {
            /** @description the result, or the events if requested */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolResult"];
                    "text/event-stream": components["schemas"]["ToolEvent"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    runCommandTool: {
        parameters: {
            query?: {
                /** @description The format of the events: `tool_calls` if absent. */
                dialect?: "tool_calls" | "tool_calls_flat";
            };
            header?: {
                /** @description A request that is sent again with the same key is carried out once. */
                "Idempotency-Key"?: string | null;
                /** @description `text/event-stream` for a stream */
                Accept?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunCommandRequest"];
            };
        };
        responses: {
            /** @description the result, or the events if requested */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolResult"];
                    "text/event-stream": components["schemas"]["ToolEvent"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["KeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    callTool: {
        parameters: {
            query?: {
                /**
                 * @description The session: its id, its name or a unique prefix of its id. If absent: the session of the conversation, or else
                 *     of the agent, which is created by the first call.
                 */
                session?: string;
                /** @description The name of the agent: `default` if absent. Each agent has its own positions in the output of executions. */
                agent?: string;
                /** @description The conversation whose streams show what the tool starts. */
                conversation_id?: string;
                /** @description The id that the model gave the call. */
                tool_call_id?: string;
            };
            header?: {
                /** @description `text/event-stream` for a stream */
                Accept?: string | null;
            };
            path: {
                /** @description the name of the tool */
                tool: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ToolArguments"];
            };
        };
        responses: {
            /** @description the result, or the events if requested */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolOutcome"];
                    "text/event-stream": components["schemas"]["ToolEvents"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getUsage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller's quota and use. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnerUsage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listSessionUsage: {
        parameters: {
            query?: {
                /** @description Up to 100 sessions, separated by commas: ids, names or unique prefixes of ids. All of your own if absent. */
                sessions?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What running sessions use. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunningUsageList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Ambiguous"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description The maximum number of items on a page: 100 if absent. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of a list. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserRequest"];
            };
        };
        responses: {
            /** @description A user as the API returns it, without the password. */
            201: {
                headers: {
                    /** @description the URL of the user */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description the name is taken, or owns sessions */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the user's id or name */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A user as the API returns it, without the password. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    deleteUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the user's id or name */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it was removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
    updateUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the user's id or name */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UserPatch"] | null;
            };
        };
        responses: {
            /** @description A user as the API returns it, without the password. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["DiskFull"];
        };
    };
}
