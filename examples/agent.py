#!/usr/bin/env python3
"""An agent: a model with an OpenAI-compatible API, and the tools of a Headwater server.

    MODEL_URL=https://api.openai.com/v1 MODEL=... MODEL_KEY=... \
    HEADWATER_URL=http://127.0.0.1:8080 HEADWATER_TOKEN=... examples/agent.py 'Write a haiku to haiku.txt'
"""
import json, os, sys, urllib.error, urllib.parse, urllib.request, uuid

MODEL_URL, SERVER = os.environ["MODEL_URL"], os.environ.get("HEADWATER_URL", "http://127.0.0.1:8080")
# All calls of a conversation work in one session, which the first call creates.
CONVERSATION = os.environ.get("CONVERSATION") or str(uuid.uuid4())


def request(url, key, body=None):
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as response:
        return json.load(response)


def call_tool(call):
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    query = urllib.parse.urlencode({"conversation_id": CONVERSATION, "tool_call_id": call["id"]})
    url = f"{SERVER}/v1/tools/{urllib.parse.quote(name, safe='')}?{query}"
    try:
        return request(url, os.environ["HEADWATER_TOKEN"], arguments.encode())["content"]
    except urllib.error.HTTPError as error:  # an unknown tool, or arguments that are not JSON: the model can fix it
        problem = json.load(error)["error"]
        return f"{problem['message']}. {problem['hint']}"


def main(task):
    tools = request(f"{SERVER}/v1/tools?format=openai_chat", os.environ["HEADWATER_TOKEN"])["tools"]
    messages = [{"role": "user", "content": task}]
    while True:
        body = {"model": os.environ.get("MODEL", "default"), "messages": messages, "tools": tools}
        url, key = f"{MODEL_URL}/chat/completions", os.environ.get("MODEL_KEY", "")
        reply = request(url, key, json.dumps(body).encode())["choices"][0]["message"]
        messages.append(reply)
        if not reply.get("tool_calls"):
            return print(reply["content"])
        for call in reply["tool_calls"]:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": call_tool(call)})


main(sys.argv[1])
