"""A conversation with a real model, over HTTP: what is streamed is what is stored, and a stopped answer is kept.

Usage: client.py URL TOKEN"""

import json
import sys
import urllib.request


class Server:
    def __init__(self, url, token):
        self.url, self.token = url, token

    def request(self, method, path, body=None, accept="application/json"):
        headers = {"Authorization": f"Bearer {self.token}", "Accept": accept, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers, method=method)
        return urllib.request.urlopen(request, timeout=300)

    def call(self, method, path, body=None):
        with self.request(method, path, body) as response:
            return json.loads(response.read() or "null")

    def log(self, conversation, after=0):
        """The entries of the log, as they come."""
        path = f"/v1/conversations/{conversation}/log?after={after}"
        with self.request("GET", path, accept="text/event-stream") as stream:
            for line in stream:
                if line.startswith(b"data: "):
                    yield json.loads(line[len(b"data: ") :])


def texts(message):
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def send(server, conversation, text):
    return server.call("POST", f"/v1/conversations/{conversation}/messages", {"text": text})


def an_answer_is_streamed_and_stored(server):
    conversation = server.call("POST", "/v1/conversations", {"model": "smol"})["id"]
    send(server, conversation, "Say hello in one short sentence.")
    deltas, ended = [], []
    for entry in server.log(conversation):
        if entry["type"] == "text_delta":
            deltas.append(entry["text"])
        if entry["type"] == "text_ended":
            ended.append(entry["text"])
        if entry["type"] == "turn_ended":
            assert entry["outcome"] == "completed", entry
            break
    assert ended and "".join(ended).strip(), "the model wrote nothing"
    # A reader that is late may find no deltas of a part that has ended.
    assert not deltas or "".join(deltas) == "".join(ended), (deltas, ended)
    stored = server.call("GET", f"/v1/conversations/{conversation}")
    answer = stored["messages"][-1]
    assert answer["role"] == "assistant" and texts(answer) == "".join(ended), answer
    assert answer["usage"]["output_tokens"] > 0, answer
    print(f"a real model answered: {texts(answer)[:60]!r} ({answer['usage']['output_tokens']} tokens): ok")
    return conversation


def a_stopped_answer_keeps_what_was_said(server, conversation):
    after = server.call("GET", f"/v1/conversations/{conversation}")["last_seq"]
    send(server, conversation, "Write a long story about a river. Write at least one thousand words.")
    streamed = 0
    for entry in server.log(conversation, after):
        if entry["type"] == "text_delta":
            streamed += 1
            if streamed == 3:
                stopped = server.call("POST", f"/v1/conversations/{conversation}/stop", {})
                assert stopped["was_running"], stopped
        if entry["type"] == "turn_ended":
            assert entry["outcome"] == "stopped", entry
            break
    answer = server.call("GET", f"/v1/conversations/{conversation}")["messages"][-1]
    assert texts(answer), answer
    print("a stopped answer of a real model is kept: ok")


def main():
    server = Server(*sys.argv[1:3])
    models = server.call("GET", "/v1/models?check=true")["items"]
    assert [(model["name"], model["status"]) for model in models] == [("smol", "ok")], models
    a_stopped_answer_keeps_what_was_said(server, an_answer_is_streamed_and_stored(server))


if __name__ == "__main__":
    main()
