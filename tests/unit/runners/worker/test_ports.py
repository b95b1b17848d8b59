"""The port of a job is one that stays free until the job listens."""

from __future__ import annotations

import socket
from pathlib import Path

from bastion.runners.worker.linux.ports import BELOW, free_port


def test_no_connection_is_given_it_and_those_below_are_free_too() -> None:
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    port = free_port()
    assert not first <= port <= last
    assert not 30_000 <= port < 32_768
    for each in range(port - BELOW, port + 1):
        with socket.socket() as door:
            door.bind(("", each))


def test_who_listens_below_it_is_seen(tmp_path: Path) -> None:
    (tmp_path / "range").write_text("1024 65530\n")
    with socket.socket() as door:
        door.bind(("127.0.0.1", 65_531))
        assert free_port(tmp_path / "range") in (65_534, 65_535)


def test_where_all_are_given_to_connections_it_is_one_of_them(tmp_path: Path) -> None:
    for text in ("1 65535", "1024 65533"):
        (tmp_path / "range").write_text(text)
        assert 1_024 <= free_port(tmp_path / "range") <= 65_535
    assert free_port(tmp_path / "none") >= 20_000
