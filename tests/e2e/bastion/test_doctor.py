"""`bastion doctor` and `bastion auth` on a folder: well, unwell, and without leaving anything."""

from __future__ import annotations

import getpass
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bastion.cli.bastion.parts import doctor_store
from bastion.cli.bastion.tool import TOOL
from bastion.cli.terminal import main
from bastion.stores.memory import MemoryBucket
from tests.support.fleet import Fleet, files


def visit(fleet: Fleet) -> tuple[int, dict[str, tuple[str, str]]]:
    """Exit code, and of each check its level and what was found."""
    said = fleet.run("bastion", "doctor", "--json")
    found = json.loads(said.stdout)
    assert found["well"] == (said.returncode == 0)
    return said.returncode, {check["check"]: (check["level"], check["found"]) for check in found["checks"]}


def test_a_doctor_finds_what_is_wrong_and_leaves_nothing(fleet: Fleet) -> None:
    fleet.create()
    fleet.submit("first", run="exec sleep 600")
    fleet.await_state("first", "RUNNING")
    events = len(fleet.events("RequestRejected"))
    code, found = visit(fleet)
    assert code == 0, found
    assert {level for level, _ in found.values()} == {"ok"}
    assert found["stale machines"] == ("ok", "none of 1 workers is silent")
    assert f"rights on inbox/{getpass.getuser()}/" in found
    assert len(fleet.events("RequestRejected")) == events
    assert [path for path in files(fleet.bucket) if "!doctor" in str(path)] == []

    fleet.put("project-quotas/project-quotas.config", b"[total_resources")
    fleet.put("claims/unknown-1/0/0/0", b"{}")
    code, found = visit(fleet)
    wrong = {name: level for name, (level, _) in found.items() if level != "ok"}
    assert code == 1
    assert wrong["quota"] == "failed"
    assert "line" in found["quota"][1]
    said = fleet.run("bastion", "doctor").stdout
    assert "failed   quota: " in said
    assert "-> correct it: bastion quota edit" in said

    assert fleet.run("bastion", "stop").returncode == 0
    _, found = visit(fleet)
    assert found["bastion"][0] == "warning"
    fleet.put("status.json", b"garbage")
    _, found = visit(fleet)
    assert found["status.json"][0] == "failed"
    (fleet.root / "status.json").unlink()
    fleet.create()


def test_auth_says_whose_rights_are_used(fleet: Fleet) -> None:
    fleet.create(f"--ttl_bucket={fleet.folder}/ttl")
    buckets = fleet.ask("bastion", "auth")["buckets"]
    assert [(each["bucket"], each["holds"]) for each in buckets] == [
        (f"file://{fleet.bucket}", "private, permanent"),
        (f"file://{fleet.folder}/ttl", "ttl"),
    ]
    assert buckets[0]["account"].startswith(getpass.getuser())
    assert buckets[0]["rights"].startswith("read, write, enter")
    assert "answer    may list" in fleet.run("bastion", "auth").stdout
    said = fleet.run("bastion", "auth", f"--bucket=file://{fleet.folder}/nowhere")
    assert said.returncode == 1
    assert "no such file or directory" in said.stdout


def prove(url: str, *flags: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = main.run(TOOL, ["doctor", f"--store={url}", *flags], environ={"HOME": "/nowhere"}, out=out, err=err)
    return code, out.getvalue(), err.getvalue()


def test_a_folder_is_proved_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    code, out, _ = prove(str(tmp_path))
    assert (code, out.splitlines()[-1]) == (0, f"file://{tmp_path} keeps all 26 promises")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_store_that_breaks_promises_is_told_which_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    class Overwrites(MemoryBucket):
        def create(self, key: str, data: bytes) -> str | None:
            return self.write(key, data)

    def opened(url: str, *, create: bool = False) -> MemoryBucket:
        return Overwrites(url)

    monkeypatch.setattr(doctor_store, "open_bucket", opened)
    code, out, _ = prove(f"memory://{uuid4()}")
    assert code == main.FAILED
    assert "failed   Create refuses a taken key and changes nothing." in out
    assert "-> do not keep a bastion in this store" in out
    code, out, _ = prove(f"memory://{uuid4()}", "--json")
    found: dict[str, Any] = json.loads(out)
    assert (code, found["schema"], found["well"]) == (main.FAILED, 1, False)


def test_a_store_that_is_not_there_is_told(tmp_path: Path) -> None:
    code, _, err = prove(f"{tmp_path}/nowhere")
    assert (code, "there is no such folder" in err) == (main.FAILED, True)
    code, _, err = prove("nope://x")
    assert (code, "is not a known kind of store" in err) == (main.USAGE, True)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    here = Fleet(tmp_path)
    yield here
    here.close()
