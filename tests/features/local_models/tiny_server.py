"""A server of the standard library with one model, which knows no date: `tiny_server.py PORT [LAST
WORDS]`; with last words it says them and ends before it serves."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

MESSAGE = {"role": "assistant", "content": "MY ANSWER: None"}


REPLY = {
    "model": "tiny",
    "choices": [{"message": MESSAGE, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 3},
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self._answer({"data": [{"id": "tiny"}]})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(REPLY)

    def _answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


port, words = int(sys.argv[1]), sys.argv[2:]
print("pid", os.getpid(), flush=True)
if words:
    sys.exit(" ".join(words))
HTTPServer(("127.0.0.1", port), Handler).serve_forever()
