"""A way from one network into another: bytes from whoever comes to a socket go to a server, and back."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def relayed(listener: socket.socket, port: int) -> Iterator[None]:
    """Lead all who come to `listener` to this port of our own loopback; at the end all are cut off."""
    pairs: list[tuple[socket.socket, socket.socket]] = []
    threads: list[threading.Thread] = []

    def begin(*work: socket.socket) -> None:
        threads.append(threading.Thread(target=_copy, args=work, daemon=True))
        threads[-1].start()

    def accept() -> None:
        with suppress(OSError):
            while True:
                here, _ = listener.accept()
                pairs.append((here, socket.create_connection(("127.0.0.1", port))))
                begin(*pairs[-1])
                begin(*reversed(pairs[-1]))

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield
    finally:
        _shut(listener)
        accepting.join()
        for pair in pairs:
            for end in pair:
                _shut(end)
        for thread in threads:
            thread.join()
        for end in (listener, *(end for pair in pairs for end in pair)):
            end.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    _shut(target, socket.SHUT_WR)


def _shut(end: socket.socket, how: int = socket.SHUT_RDWR) -> None:
    with suppress(OSError):
        end.shutdown(how)
