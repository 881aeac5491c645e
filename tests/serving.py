"""A file server on this machine alone that misbehaves as it is told, for tests of fetching."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Server", "serving"]


class Server:
    """What is served, and how; what was asked is kept.

    Attributes:
        files: content by path.
        tags: entity tag by path; one of its own for every path that is not named here, none where it is empty.
        ranges: whether parts of files are served.
        cut_after: bytes after which the next connections are cut.
        status: answered instead of the file, where it is not 0.
        redirects: paths that are sent elsewhere.
        asked: path and headers, names in lower case, of each request.
    """

    def __init__(self, **files: bytes) -> None:
        self.files = {f"/{name}": content for name, content in files.items()}
        self.tags: dict[str, str] = {}
        self.ranges = True
        self.cut_after: list[int] = []
        self.status = 0
        self.redirects: dict[str, str] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answers one request."""
        headers = {name.lower(): value for name, value in handler.headers.items()}
        path = handler.path
        self.asked.append((path, headers))
        if path in self.redirects:
            return self._end(handler, 302, Location=self.redirects[path])
        if self.status or path not in self.files:
            return self._end(handler, self.status or 404)
        content, tag = self.files[path], self.tags.get(path, f'"{path}"')
        if tag and headers.get("if-none-match") == tag:
            return self._end(handler, 304)
        start = 0
        if "range" in headers and self.ranges and headers.get("if-range", tag) == tag:
            start = int(headers["range"].removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                return self._end(handler, 416)
        body = content[start:]
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if tag:
            handler.send_header("ETag", tag)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: self.cut_after.pop(0) if self.cut_after else len(body)])
        return None

    def _end(self, handler: BaseHTTPRequestHandler, status: int, **headers: str) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()


@contextmanager
def serving(server: Server) -> Iterator[str]:
    """Serves while it is open; gives the address of the root."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.answer(self)

        def log_message(self, *words: Any) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_address[1]}"
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()
