"""A real HTTP server on loopback."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site(ThreadingHTTPServer):
    """A server that gives each path's answers in turn, the last one again and again.

    An answer is a function of the request's handler. requests: path and headers of each request.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.requests = {}, []
        self.stopped = threading.Event()

    def url(self, path, *answers):
        """The URL of a path, which from now on has these answers."""
        self.answers[path] = list(answers)
        return f"http://127.0.0.1:{self.server_port}{path}"

    def asked(self):
        return [path for path, _ in self.requests]

    def ranges(self):
        """What each request asked for: None is the whole file."""
        return [headers["Range"] for _, headers in self.requests]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requests.append((self.path, self.headers))
        answers = self.server.answers.get(self.path, [status(404)])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        answer(self)

    def log_message(self, *args):
        pass


def status(code, body=b"sorry"):
    return whole(body, code=code)


def whole(body, *, code=200, length=None, sent=None, stalls=False, **headers):
    """The body; with a Content-Length of `length`, only `sent` bytes of it, and silence after them."""

    def answer(handler):
        handler.send_response(code)
        handler.send_header("Content-Length", len(body) if length is None else length)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body[:sent])
        if stalls:
            handler.wfile.flush()
            handler.server.stopped.wait(20)
        handler.close_connection = True

    return answer


def ranged(body, etag='"1"', **options):
    """As whole, but a Range of the file with this ETag is answered with what it asks for."""

    def answer(handler):
        wanted = handler.headers["Range"]
        headers = {"ETag": etag, "Accept_Ranges": "bytes"}
        if wanted and handler.headers["If-Range"] == etag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            place = f"bytes {start}-{len(body) - 1}/{len(body)}"
            whole(body[start:], code=206, Content_Range=place, **headers)(handler)
        else:
            whole(body, **headers, **options)(handler)

    return answer


@contextmanager
def serving():
    """A site that answers in a thread of its own."""
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.stopped.set()
        server.shutdown()
        thread.join()
