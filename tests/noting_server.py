"""Servers on loopback that answer in JSON and note what they are sent."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, size = self.server, int(self.headers.get("content-length") or 0)
        server.asked.append((self.path, self.headers.get("authorization", "")))
        server.headers += str(self.headers)
        body = server.replies.get(self.path, {"count": 3})
        if size:
            body = body | {"model": json.loads(self.rfile.read(size)).get("model")}
        data = json.dumps(body).encode()
        self.send_response(307 if server.redirect else server.status)
        if server.redirect:
            self.send_header("location", server.redirect + self.path.removeprefix("/v1"))
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET

    def log_message(self, *arguments):
        """Nothing."""


class NotingServer(ThreadingHTTPServer):
    """Answers each path with its reply, and any other one too."""

    redirect = ""
    headers = ""
    """Of all requests."""

    def __init__(self, replies, status):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies, self.status = replies, status
        self.asked = []
        """Path and key of each request."""
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        self.url = f"{self.address}/v1"

    @property
    def seen(self):
        """Every key that it was sent."""
        return {key for _, key in self.asked}


@contextmanager
def answering(*servers):
    """The HTTP servers, each in a thread, until the block ends."""
    for server in servers:
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield servers
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def noting_servers(count, replies, status=200):
    """So many of them, until the block ends."""
    return answering(*(NotingServer(replies, status) for _ in range(count)))
