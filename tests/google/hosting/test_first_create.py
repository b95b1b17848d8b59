"""From a decision to the first request for machines: as few requests as can be, and no worker made, whatever was before."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bastion.model import layout
from bastion.model.errors import RunnerError
from bastion.model.interfaces import CommandResult
from bastion.platform.shell import SystemShell
from bastion.runners.delivery import installation
from bastion.runners.delivery.archive import Archive
from bastion.runners.delivery.archive_cache import kept_in, lay
from bastion.runners.google.machines.boot import MachineBoot
from bastion.stores.counting import CountingBucket
from tests.google.support.fleet import Fleet
from tests.google.support.gces import BULK
from tests.google.support.kinds import GCE, TPU
from tests.support.doors import memory

SLICES = "tpu.projects.locations.queuedResources.create"


class NoShell:
    """Who makes a worker asks the loader for its libraries; nobody does."""

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> CommandResult:
        raise AssertionError(f"asked for {argv}")


class Maker:
    """Counts how often a worker is made."""

    made = 0

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> CommandResult:
        self.made += 1
        return CommandResult(0, "", "")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Path]:
    """A small installation in place of this one."""
    files = {"bin/python3.bin": tmp_path / "python3", "lib/python3.11/os.py": tmp_path / "os.py"}
    for path in files.values():
        path.write_text(path.name)
    monkeypatch.setattr(installation, "files", lambda shell: shell.run([], limit_s=1.0) and files)
    return files


@pytest.fixture
def laid(tmp_path: Path, installed: object) -> Path:
    """Where the small installation brings its worker along."""
    lay(tmp_path / "laid", Maker())
    return tmp_path / "laid"


@pytest.fixture(params=[TPU, GCE], ids=lambda kind: kind.name)
def fleet(request: pytest.FixtureRequest, laid: Path) -> Fleet:
    """A bastion that has just been started, in a bucket that nobody has used."""
    here = Fleet(request.param, bucket=CountingBucket(memory()))  # type: ignore[arg-type]
    begin(here, laid)
    return here


def begin(fleet: Fleet, laid: Path) -> None:
    """The bastion's program begins, with nothing in memory."""
    fleet.restart()
    born = MachineBoot(fleet.bucket, "gs://b/demo", NoShell(), {}, make=partial(kept_in, [laid]))
    fleet.runner.context = replace(fleet.runner.context, birth=born)
    fleet.bucket.counts.clear()  # type: ignore[attr-defined]


def asked_before_the_first_creation(fleet: Fleet, job: str) -> list[str]:
    """What Google was asked between the decision to start a job and the request for its machines."""
    before = len(fleet.fake.calls())
    fleet.submit([job], {"v6e": 8} if fleet.runner.name == "tpu" else {"l4": 1})
    fleet.turn()
    assert fleet.troubles == []
    methods = [call.method for call in fleet.fake.calls()[before:]]
    creation = SLICES if fleet.runner.name == "tpu" else BULK
    assert methods.count(creation) == 1
    return methods[: methods.index(creation)]


def test_a_start_with_its_worker_beside_it_makes_none_before_the_first_creation(fleet: Fleet, laid: Path) -> None:
    first = asked_before_the_first_creation(fleet, "first")
    # Where the fleet is, what is there: by zones, never by jobs.
    assert len(first) <= 1 + 2 * 2, first
    # Its claim is looked for; its order is written, and the worker, which is not in the bucket yet.
    assert fleet.bucket.counts == {"create": 2, "list": 1, "read": 1}  # type: ignore[attr-defined]
    begin(fleet, laid)
    asked_before_the_first_creation(fleet, "second")
    # Claims are looked for, the first job's order is read back; and no worker is sent that is there.
    assert fleet.bucket.counts == {"create": 2, "list": 1, "read": 3}  # type: ignore[attr-defined]


def test_a_worker_is_made_once_for_an_installation_and_again_for_another(
    tmp_path: Path, installed: Mapping[str, Path]
) -> None:
    folders, maker = [tmp_path / "none", tmp_path / "cache"], Maker()
    first = kept_in(folders, maker)
    assert kept_in(folders, NoShell()).digest == first.digest
    assert kept_in(folders, NoShell()).read() == first.read()
    installed["lib/python3.11/os.py"].write_text("another os")
    second = kept_in(folders, maker)
    assert (maker.made, second.digest == first.digest) == (2, False)
    assert {path.name for path in folders[1].iterdir()} == {f"{second.digest}.tar.gz", "manifest.json"}
    assert not folders[0].exists()


def removed(path: Path) -> None:
    path.unlink()


def older(path: Path) -> None:
    os.utime(path, (1, 1))


@pytest.mark.parametrize("change", [removed, older])
def test_a_worker_laid_by_another_installation_is_not_taken(
    laid: Path, tmp_path: Path, installed: Mapping[str, Path], change: Callable[[Path], None]
) -> None:
    change(installed["lib/python3.11/os.py"])
    with pytest.raises(AssertionError, match="asked for"):
        kept_in([laid, tmp_path / "cache"], NoShell())


def test_a_package_more_makes_it_another_installation(
    laid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site/odd-1.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "site")
    with pytest.raises(AssertionError, match="asked for"):
        kept_in([laid], NoShell())


@pytest.mark.parametrize("text", ["", "{", "[]", '{"digest":"x","files":["/none"],"state":""}', '{"digest":1}'])
def test_a_damaged_manifest_is_none(laid: Path, text: str) -> None:
    (laid / "manifest.json").write_text(text)
    maker = Maker()
    kept_in([laid], maker)
    assert maker.made == 1
    kept_in([laid], NoShell())


def test_damaged_bytes_are_made_again_and_only_if_they_are_the_same(laid: Path, installed: Mapping[str, Path]) -> None:
    found, maker = kept_in([laid], Maker()), Maker()
    whole = (laid / f"{found.digest}.tar.gz").read_bytes()
    for damage in (lambda file: file.write_bytes(whole[:-1]), Path.unlink):
        damage(laid / f"{found.digest}.tar.gz")
        assert kept_in([laid], maker).read() == whole
    assert maker.made == 2
    installed["lib/python3.11/os.py"].write_text("another os")
    with pytest.raises(RunnerError, match="damaged and cannot be repaired; remove that folder"):
        found.read()


def test_this_installation_makes_the_same_bytes_each_time(tmp_path: Path, archive: Archive) -> None:
    lay(tmp_path / "laid", SystemShell())
    found = kept_in([tmp_path / "laid"], NoShell())
    assert found.digest == archive.digest == hashlib.sha256(found.read()).hexdigest()
    bucket = CountingBucket(memory())
    assert MachineBoot(bucket, "gs://b/demo", NoShell(), {}, make=lambda _: found).build() == found.digest
    assert bucket.read(layout.build(found.digest)).data == archive.read()
