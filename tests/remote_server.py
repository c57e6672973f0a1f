"""A real HTTP server on this machine that answers chat requests as its script says."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer(*texts, finish="stop", usage=(5, 2), **choice):
    """A 200 of one choice per text."""
    choices = [
        {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": finish, **choice}
        for index, text in enumerate(texts)
    ]
    return 200, {"choices": choices, "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}


class Server:
    """`script(body, headers)` gives (status, JSON or bytes) or (status, JSON, headers), or is a list of these, the last
    of them for ever. `asked` keeps each request: (path, headers, body). `most` is how many were answered at once."""

    def __init__(self, script):
        self.script, self.asked, self.most, self._now = script, [], 0, 0
        self._lock = threading.Lock()

    def reply(self, path, headers, body):
        with self._lock:
            self.asked.append((path, headers, body))
            number, self._now = len(self.asked) - 1, self._now + 1
            self.most = max(self.most, self._now)
        try:
            if callable(self.script):
                return self.script(body, headers)
            return self.script[min(number, len(self.script) - 1)]
        finally:
            with self._lock:
                self._now -= 1

    @property
    def bodies(self):
        return [body for _, _, body in self.asked]


@contextmanager
def serving(script):
    server = Server(script)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, data, *more = server.reply(self.path, dict(self.headers), body)
            if status == "hang up":
                self.connection.close()
                return
            data = data if isinstance(data, bytes) else json.dumps(data).encode()
            self.send_response(status)
            for name, value in (more[0] if more else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *given):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        server.base_url = f"http://127.0.0.1:{http.server_port}/v1"
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


def slowly(seconds, reply):
    """A script that sleeps before it answers."""

    def script(body, headers):
        time.sleep(seconds)
        return reply

    return script
