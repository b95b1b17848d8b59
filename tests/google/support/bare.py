"""A machine that has next to nothing: a root of its own with BusyBox and curl, and a network of its own with nobody in it.

Whatever runs there finds no Python, no C library and no file of this host. Servers of the test listen in its network,
without being on it.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

METADATA = "169.254.169.254"
_CLONE_NEWNET = 0x40000000
_USERADD = """#!/bin/sh
for name; do :; done
echo "$name:x:1500:1500::/home/$name:/bin/sh" >>/etc/passwd
mkdir -p "/home/$name"
"""
_MOUNTS = 'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev"'
_GATE = f"ip link set lo up && ip addr add {METADATA}/32 dev lo && echo up && read -r go"


APART = ("setpriv", "--pdeathsig", "KILL", "unshare", "--net")
"""In a network of its own; it ends with the thread that has begun it."""

Listen = Callable[[str, int], socket.socket]
Serve = Callable[[Listen], None]


class Bare:
    """The machine's root folder, and what is run on it."""

    def __init__(self, root: Path) -> None:
        self.root, self.pid = root, 0
        self.before = "true"
        """A shell text, run before all else in the machine's namespaces, but among this host's files; `$0` is the root."""
        for folder in ("bin", "dev", "etc", "home", "proc", "root", "sys", "tmp", "usr/bin", "var/lib", "run"):
            (root / folder).mkdir(parents=True)
        # By another process: what one of ours has open for writing, while another thread forks, cannot be started.
        subprocess.run(["cp", _found("busybox"), root / "bin/busybox"], check=True)
        subprocess.run(["chroot", root, "/bin/busybox", "--install", "-s", "/bin"], check=True)
        (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        (root / "etc/group").write_text("root:x:0:\n")
        self.program("useradd", _USERADD)
        self._curl()

    def program(self, name: str, text: str) -> None:
        """Have a program that is a shell text, and none of BusyBox's."""
        (self.root / "usr/bin" / name).write_text(text)
        (self.root / "usr/bin" / name).chmod(0o755)

    def _curl(self) -> None:
        """This host's curl, with its own loader and libraries in a folder where nobody else looks."""
        curl, home = Path(_found("curl")), self.root / "curl"
        home.mkdir(parents=True)
        listed = subprocess.run(["ldd", curl], capture_output=True, text=True, check=True).stdout
        for path in {*re.findall(r"(/\S+) \(0x", listed), str(curl)}:
            shutil.copy(path, home)
        loader = next(path.name for path in home.iterdir() if path.name.startswith("ld-linux"))
        self.program("curl", f'#!/bin/sh\nexec /curl/{loader} --library-path /curl /curl/curl "$@"\n')

    @contextmanager
    def running(self, script: str, serve: Serve, environ: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
        """Run a shell text there as the first of all processes, its output in a pipe; when the block ends, all of them end.

        Before it begins, `serve` is told how to listen in the machine's network.
        """
        inner = f'{_GATE} && {self.before} && {_MOUNTS} && exec chroot "$0" /bin/env -i "$@"'
        words = [f"{name}={value}" for name, value in {"PATH": "/usr/bin:/bin", **environ}.items()]
        shell = ["/bin/sh", "-c", inner, str(self.root), *words, "/bin/sh", "-c", script]
        apart = [*APART, "--mount", "--uts", "--pid", "--fork", "--kill-child"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen([*apart, *shell], text=True, **pipes) as process:  # type: ignore[call-overload]
            try:
                assert process.stdout.readline() == "up\n"
                self.pid = process.pid
                serve(lambda address, port: _listening_in(process.pid, address, port))
                process.stdin.write("go\n")
                process.stdin.flush()
                yield process
            finally:
                process.kill()

    def said(self, script: str, environ: Mapping[str, str] | None = None) -> str:
        """What a shell text prints there, to its end, with nobody in the network."""
        with self.running(script, lambda _: None, environ or {}) as process:
            return process.communicate(timeout=300)[0]


def _found(name: str) -> str:
    path = shutil.which(name)
    assert path, f"{name} is not installed"
    return path


def _listening_in(pid: int, address: str, port: int) -> socket.socket:
    """A socket that listens in the network of another process."""

    def make() -> socket.socket:
        with open(f"/proc/{pid}/ns/net") as network:
            if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        listener = socket.socket()
        listener.bind((address, port))
        listener.listen(64)
        return listener

    with ThreadPoolExecutor(1) as elsewhere:  # the network is the thread's, and the socket keeps it
        return elsewhere.submit(make).result()
