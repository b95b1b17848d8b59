"""What a worker finds out and lays out on its machine."""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, CommandResult
from bastion.runners.delivery.bootstrap import MachineGroup, metadata
from bastion.runners.google.machines.machine_context import Disk, flags, make_account, roomiest
from tests.unit.bundler.doors import TestClock

HERE = getpass.getuser()
HOME = Disk(Path("/var/lib/bastion"), 100)


class Shell:
    """Says always the same; remembers what it was asked."""

    def __init__(self, said: CommandResult) -> None:
        self.said = said
        self.asked: list[Sequence[str]] = []

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> CommandResult:
        self.asked.append(argv)
        return self.said


class Server:
    """Answers when it was asked often enough."""

    def __init__(self, told: dict[str, str], silent: int) -> None:
        self._told, self.silent = told, silent

    def look(self) -> Mapping[str, Any]:
        if self.silent > 0:
            self.silent -= 1
            raise RunnerError("the metadata server gives no answer")
        return {"attributes": self._told, "name": "n", "networkInterfaces": [{"ip": "10.0.0.7"}]}


def told(run_as: str) -> dict[str, str]:
    key = AttemptKey("train-12345678", 0, 1)
    return metadata(
        MachineGroup(key=key, machine="z/n/4f2a", base=2, bucket="gs://b/demo", build="ab" * 32, run_as=run_as)
    )


def test_jobs_work_where_there_is_most_room() -> None:
    assert roomiest(HOME, []) == HOME.path
    assert roomiest(HOME, [Disk(Path("/boot"), 10), Disk(Path("/also"), 100)]) == HOME.path
    assert roomiest(HOME, [Disk(Path("/small"), 101), Disk(Path("/ssd"), 900)]) == Path("/ssd/bastion")


def test_a_worker_waits_for_its_metadata_and_has_a_folder_of_its_attempt(tmp_path: Path) -> None:
    clock, shell = TestClock(), Shell(CommandResult(0, "", ""))
    found = flags(tmp_path, Server(told(HERE), silent=3).look, clock, shell)
    assert Path(found["folder"]).is_dir()
    assert found["folder"].endswith("work/train-12345678/0/1/2")
    assert found["secrets"] == "/etc/bastion/secrets"
    assert (found["worker"], found["machine"], found["devices"]) == ("2", "z/n/4f2a/0", "share:0/1")
    assert clock.monotonic() == 6
    assert shell.asked == []


def test_a_metadata_server_that_stays_silent_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match="gives no answer"):
        flags(tmp_path, Server(told(""), silent=1000).look, TestClock(), Shell(CommandResult(0, "", "")))


def test_an_account_is_made_once_and_its_name_is_no_flag() -> None:
    shell = Shell(CommandResult(0, "", ""))
    make_account(HERE, shell)
    assert shell.asked == []
    make_account("--nobody-of-this-name", shell)
    assert shell.asked == [["useradd", "--create-home", "--shell=/bin/sh", "--", "--nobody-of-this-name"]]


def test_an_account_that_cannot_be_made_is_told() -> None:
    with pytest.raises(
        RunnerError, match=r"this machine cannot create the account 'nobody-of-this-name': no\s+room; change run_as"
    ):
        make_account("nobody-of-this-name", Shell(CommandResult(1, "", "no \n room")))
