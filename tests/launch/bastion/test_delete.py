"""A bastion of which a runner cannot be asked can be deleted, and says what it leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bastion.journal.journal import Journal
from bastion.model import layout
from bastion.model.state.state import State
from bastion.model.stored.events import CapacityChanged, Claimed, Epoch, Started, Submitted
from bastion.platform.system import RandomIds, SystemClock
from tests.support.bench import Bench
from tests.support.world import spec

NO_WAY = b"""\
runners = ["kubernetes"]
admins = ["root"]
[runner_options.kubernetes]
image = "i"
kubeconfig = "/nowhere/config"
"""


@pytest.fixture
def lost(tmp_path: Path) -> Bench:
    """A bastion of a cluster that nothing leads to any more, with a job in it."""
    bench = Bench(tmp_path / "bucket")
    bench.bucket.write("config.toml", NO_WAY)
    journal = Journal(bench.bucket, SystemClock(), RandomIds(), State())
    journal.begin(SystemClock().wall())
    at = {"job": "j-11111111", "task": 0, "attempt": 0}
    for event in (
        Epoch(epoch=1, host="h", pid=1, version="0.1.0"),
        CapacityChanged(runner="kubernetes", resources={"v4": 8}),
        Submitted(request="alice/1", job="j-11111111", spec=spec()),
        Started(**at, runner="kubernetes", tier=0, workers=1),  # type: ignore[arg-type]
        Claimed(**at, worker=0, machine="pod-7"),  # type: ignore[arg-type]
    ):
        assert journal.add(event)
    journal.commit()
    return bench


def test_what_cannot_be_asked_is_left_only_where_that_is_said(lost: Bench) -> None:
    for words in (["--force"], ["--abandon_machines"], []):
        said = lost.bastion("delete", "--purge", "--yes", *words)
        assert said.code == 1, said
        assert "cannot connect to a Kubernetes cluster" in said.err
        assert "to delete the bastion all the same, use --force --abandon_machines: its machines stay" in said.err
    assert lost.bucket.read("config.toml").data == NO_WAY


@pytest.mark.parametrize("as_json", [False, True])
def test_what_is_left_is_named(lost: Bench, as_json: bool) -> None:
    words = ("delete", "--force", "--abandon_machines", "--purge", "--yes")
    lost.environ["BASTION_USER"] = "eve"
    said = lost.bastion(*words)
    assert (said.code, "eve is no admin" in said.err) == (1, True), said
    lost.environ["BASTION_USER"] = "root"
    said = lost.bastion(*words, *(["--json"] if as_json else []))
    assert said.code == 0, said
    if as_json:
        told = json.loads(said.out)
        assert (told["abandoned"], told["jobs"]) == (["j-11111111/0/0: pod-7"], ["j-11111111"])
    else:
        assert "leaves machine of j-11111111/0/0: pod-7\nleaves job j-11111111\n" in said.err
    left = lost.objects()
    assert [key for key in left if not key.startswith((layout.SNAPSHOTS, layout.STATUS))] == []
