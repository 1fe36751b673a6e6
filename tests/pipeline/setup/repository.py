"""A Maven repository on loopback that can be made to misbehave."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Repository:
    """Serves `files` by path. `cut_after` ends the next answers after so many bytes each."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut_after: list[int] = []
        self.statuses: list[int] = []
        self.understands_ranges = True
        # Path and first byte of each request.
        self.asked: list[tuple[str, int]] = []
        self.address = ""


@contextmanager
def serving() -> Iterator[Repository]:
    repository = Repository()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _answer(self, repository)

        def log_message(self, format: str, *args: object) -> None:
            """Tests print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    repository.address = f"http://127.0.0.1:{server.server_port}/maven2"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield repository
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(request: BaseHTTPRequestHandler, repository: Repository) -> None:
    path = request.path.removeprefix("/maven2/")
    asked = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
    first = int(asked[1]) if asked and repository.understands_ranges else 0
    repository.asked.append((path, first))
    if repository.statuses:
        request.send_error(repository.statuses.pop(0))
        return
    if path not in repository.files:
        request.send_error(404)
        return
    content = repository.files[path][first:]
    request.send_response(206 if first else 200)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    cut = repository.cut_after.pop(0) if repository.cut_after else len(content)
    request.wfile.write(content[:cut])
