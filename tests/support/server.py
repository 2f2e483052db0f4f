"""A real HTTP server on loopback."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site(ThreadingHTTPServer):
    """A server with a list of answers for each path; the last answer repeats.

    An answer is a function that takes the request's handler. requests: path and headers of each request.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.requests = {}, []
        self.stopped = threading.Event()

    def url(self, path, *answers):
        """Set the answers of a path and return its URL."""
        self.answers[path] = list(answers)
        return f"http://127.0.0.1:{self.server_port}{path}"

    def asked(self):
        return [path for path, _ in self.requests]

    def ranges(self):
        """Return each request's Range; None for the whole file."""
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


def whole(body, *, code=200, reason=None, length=None, sent=None, stalls=False, **headers):
    """Answer with the body; or claim a Content-Length of `length`, send only `sent` bytes, and stall."""

    def answer(handler):
        handler.send_response(code, reason)
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
    """Answer as `whole` does, and a Range request with this ETag with the part of the body."""

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
    """Run a site in a thread."""
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.stopped.set()
        server.shutdown()
        thread.join()
