"""Real git on a real wire: repositories served by git's own daemon and by its own program for the web."""

from __future__ import annotations

import os
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

CONFIG = """
[user]
name = Ada
email = ada@example.com
[init]
defaultBranch = main
[commit]
gpgSign = false
"""


def quiet_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of this account or machine for any git that is started from here."""
    config = folder / "gitconfig"
    config.write_text(CONFIG)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def git(folder: Path, *words: str) -> str:
    """What git prints; it must succeed."""
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Repository:
    """A work tree, and the bare repository of the same name that it pushes to."""

    def __init__(self, folder: Path, name: str = "code") -> None:
        self.tree, self.bare = folder / name, folder / "served" / f"{name}.git"
        self.bare.mkdir(parents=True)
        self.tree.mkdir()
        git(self.bare, "init", "--quiet", "--bare")
        git(self.tree, "init", "--quiet")
        git(self.tree, "remote", "add", "origin", str(self.bare))

    def write(self, name: str, text: str | bytes) -> Path:
        """A file of the work tree."""
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def commit(self, message: str = "work") -> str:
        """Commit all there is; the commit's name."""
        git(self.tree, "add", "--all")
        git(self.tree, "commit", "--quiet", "--allow-empty", "--message", message)
        return git(self.tree, "rev-parse", "HEAD")

    def push(self, *words: str) -> None:
        """Push what is checked out, or what the words say."""
        git(self.tree, "push", "--quiet", "origin", *(words or ("HEAD",)))

    def pushed(self, name: str = "train.py", text: str | bytes = "print('hello')\n") -> str:
        """One commit with this file, pushed; its name."""
        self.write(name, text)
        commit = self.commit()
        self.push()
        return commit


@contextmanager
def git_daemon(root: Path) -> Iterator[str]:
    """`git daemon`, one for each connection: the URL that repositories below `root` are served under."""

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            argv = ["git", "daemon", "--inetd", "--export-all", f"--base-path={root}", str(root)]
            subprocess.run(argv, stdin=self.request, stdout=self.request, stderr=subprocess.DEVNULL, check=False)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    with Server(("127.0.0.1", 0), Connection) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"git://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@contextmanager
def git_web(root: Path, *, old: bool = False, closed: bool = False) -> Iterator[str]:
    """`git http-backend`; an old one speaks the first protocol only, and gives nothing that no ref names; a closed one
    wants a password.
    """

    class Backend(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def log_message(self, *_: object) -> None:
            pass

        def _serve(self) -> None:
            if closed:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="private"')
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            size = int(self.headers.get("Content-Length") or 0)
            environ = {
                **os.environ,
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "CONTENT_LENGTH": str(size),
                "HTTP_GIT_PROTOCOL": "" if old else self.headers.get("Git-Protocol", ""),
            }
            done = subprocess.run(
                ["git", "http-backend"], input=self.rfile.read(size), capture_output=True, env=environ, check=False
            )
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.decode().split(": ", 1) for line in head.split(b"\r\n") if line)
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Backend) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
