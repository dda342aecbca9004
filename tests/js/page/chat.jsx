// A page with `useChat`, as an app has it: nothing in it knows Headwater, except the address and the token.

import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { useState } from "react";
import { createRoot } from "react-dom/client";

const query = new URLSearchParams(location.search);
const transport = new DefaultChatTransport({
  api: `${query.get("server")}/api/chat`,
  headers: { authorization: `Bearer ${query.get("token")}` },
});

function Tool({ part, live, decide }) {
  const { state, input, output, approval } = part;
  return (
    <section data-tool={part.toolName} data-state={state}>
      <code>{JSON.stringify(input)}</code>
      <pre>{live ?? output?.stdout ?? part.errorText}</pre>
      {output?.exit_code !== undefined && output.exit_code !== null && <b>exit {output.exit_code}</b>}
      {state === "approval-requested" && (
        <button onClick={() => decide({ id: approval.id, approved: true })}>Allow</button>
      )}
    </section>
  );
}

function Chat() {
  const [live, setLive] = useState({});
  const { messages, sendMessage, status, error, addToolApprovalResponse } = useChat({
    id: query.get("id"),
    resume: query.has("resume"),
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onData: ({ type, data }) => {
      if (type !== "data-tool-progress" || data.type === "status") return;
      setLive((all) => ({ ...all, [data.toolCallId]: (all[data.toolCallId] ?? "") + data.content }));
    },
  });
  const part = (part, key) => {
    if (part.type === "text") return <p key={key}>{part.text}</p>;
    if (part.type !== "dynamic-tool") return null;
    const isRunning = part.state === "input-available" || part.preliminary;
    return <Tool key={key} part={part} live={isRunning ? live[part.toolCallId] : undefined} decide={addToolApprovalResponse} />;
  };
  const send = (event) => {
    event.preventDefault();
    sendMessage({ text: new FormData(event.target).get("text") });
    event.target.reset();
  };
  return (
    <main data-status={status}>
      {messages.map(({ id, role, parts }) => <article key={id} className={role}>{parts.map(part)}</article>)}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}><input name="text" aria-label="Message" /></form>
    </main>
  );
}

createRoot(document.getElementById("app")).render(<Chat />);
