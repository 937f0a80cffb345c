"""An agent that knows nothing of us: it asks a model over Chat Completions, by the standard library
alone, and calls tools by plain posts. Its first argument says what it does, its last is the file
of its prompt."""

import contextlib
import glob
import json
import os
import socket
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

URL, KEY = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
MODE, PROMPT = sys.argv[1], Path(sys.argv[-1]).read_text()
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("web_search", "open_page", "shell")
]


def post(address, body):
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    try:
        return urllib.request.urlopen(request).read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()


def ask(messages):
    reply = json.loads(post(f"{URL}/chat/completions", {"messages": messages, "tools": TOOLS}))
    if "error" in reply:
        print(reply["error"]["message"])
        sys.exit(0)
    return reply["choices"][0]["message"]


def solve():
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": PROMPT}]
    while (said := ask(messages)).get("tool_calls"):
        messages.append(said)
        for call in said["tool_calls"]:
            arguments = json.loads(call["function"]["arguments"])
            output = post(f"{URL[:-3]}/tools/{call['function']['name']}", arguments)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})
    print(said["content"])


def look_around():
    """What can be seen and reached of the host, as JSON."""
    reached, written = [], []
    for address in (("127.0.0.1", 22), ("10.0.0.1", 80), ("1.1.1.1", 53), ("127.0.0.1", 9202)):
        with socket.socket() as line:
            line.settimeout(1)
            if line.connect_ex(address) == 0:
                reached.append(address)
    for folder in ("/", "/usr", "/tmp", "/opt", os.path.dirname(__file__)):
        with contextlib.suppress(OSError):
            open(os.path.join(folder, "mark"), "w").close()
            written.append(folder)
    seen = {
        "reached": reached,
        "readable": [name for name in sys.argv[2:-1] if os.path.exists(name)],
        "written": written,
        "processes": len(glob.glob("/proc/[0-9]*")),
        "secrets": [name for name in os.environ if "SECRET" in name],
        "uid": os.getuid(),
    }
    print(json.dumps(seen))


def fill():
    with open(os.path.expanduser("~/big"), "wb") as file:
        while True:
            file.write(bytes(1 << 20))


def fork():
    while os.fork():
        pass
    time.sleep(60)


def stay():
    time.sleep(1000)


def crash():
    ask([{"role": "user", "content": PROMPT}])
    sys.exit("no idea")


def insist():
    for _ in range(1000):
        post(f"{URL}/chat/completions", {"messages": [{"role": "user", "content": PROMPT}]})
        time.sleep(0.1)


try:
    globals().get(MODE, solve)()
except OSError as error:  # no space, or no further process
    print(f"MY ANSWER: None ({error.strerror})")
