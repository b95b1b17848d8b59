"""The proxy before the storage server."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import pytest

from tests.support.faultproxy import FaultProxy


def test_half_a_request_never_reaches_the_server() -> None:
    """Or the server, which waits for the rest, could not be killed between two requests."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        FaultProxy(f"http://127.0.0.1:{server.getsockname()[1]}") as proxy,
        socket.create_connection(("127.0.0.1", urlsplit(proxy.url).port or 0)) as client,
    ):
        client.sendall(b"POST /o HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf")
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
