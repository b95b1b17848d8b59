"""The choice of a port for the programs of a job."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from secrets import randbelow

BELOW = 2
"""The number of ports below the chosen one that are free too: a job may use several, as a Ray head does."""

_FIRST, _NODE_PORTS, _END = 20_000, 30_000, 65_536
_TRIES = 1_000
_GIVEN_AWAY = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port(given_away: Path = _GIVEN_AWAY) -> int:
    """Return a port that is free now, with the ports below it.

    The system does not use it for connections: such a port stays busy for a minute after each connection, and could be
    taken before the job listens. Nor does Kubernetes open it on its nodes, or Ray use it for its workers. If no other
    port is free, it is one of those after all.
    """
    first, last = _NODE_PORTS, _END
    with suppress(OSError, ValueError):
        first, last = map(int, given_away.read_text().split())
    low, high = max((_FIRST, min(first, _NODE_PORTS)), (last + 1, _END), key=lambda ends: ends[1] - ends[0])
    for _ in range(_TRIES if low + BELOW < high else 0):
        port = low + BELOW + randbelow(high - low - BELOW)
        if all(map(_is_free, range(port - BELOW, port + 1))):
            return port
    with socket.socket() as door:
        door.bind(("", 0))
        given: int = door.getsockname()[1]
        return given


def _is_free(port: int) -> bool:
    with socket.socket() as door:
        try:
            door.bind(("", port))
        except OSError:
            return False
        return True
