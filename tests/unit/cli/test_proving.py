"""`bastion create` refuses a store that is not fit, with the reason, and leaves nothing in it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion.cli.bastion.parts.store_check import admit
from bastion.cli.bastion.tool import TOOL
from bastion.cli.terminal import main
from bastion.model.settings.config import Config
from bastion.platform.system import RandomIds
from bastion.stores import fsspec
from bastion.stores.counting import CountingBucket
from bastion.stores.memory import MemoryBucket
from tests.support.flat import STORES, registered


@pytest.fixture(autouse=True)
def stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for scheme in ("flat", "looking", "overwriting"):
        monkeypatch.setitem(fsspec._SWAPS, scheme, lambda version: {"if_match": version})
    with registered():
        yield
    STORES.clear()


def create(tmp_path: Path, *flags: str) -> tuple[int, str]:
    """Exit code and the one line on stderr."""
    out, err = io.StringIO(), io.StringIO()
    environ = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    code = main.run(TOOL, ["create", "--bastion=demo", *flags], environ=environ, out=out, err=err)
    assert out.getvalue() == ""
    return code, err.getvalue()


@pytest.mark.parametrize("scheme", ["looking", "overwriting"])
def test_a_store_that_cannot_create_exclusively_is_refused(tmp_path: Path, scheme: str) -> None:
    code, said = create(tmp_path, f"--bucket={scheme}://bad/x")
    assert code == main.FAILED
    assert f"{scheme}://bad/x cannot hold a bastion" in said
    assert "do not keep a bastion in this store" in said
    assert said.count("\n") == 1
    assert STORES["bad"][1] == {}


def test_a_store_that_cannot_swap_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(fsspec._SWAPS, "flat")
    code, said = create(tmp_path, "--bucket=flat://bad/x")
    assert code == main.FAILED
    assert "fsspec cannot replace one given version there" in said
    assert STORES["bad"][1] == {}


def test_another_bucket_is_proved_too_before_anything_is_stored(tmp_path: Path) -> None:
    code, said = create(tmp_path, f"--bucket={tmp_path}/bucket", "--permanent_bucket=looking://bad/x", "--json")
    assert code == main.FAILED
    assert "looking://bad/x cannot hold a bastion" in json.loads(said)["error"]
    assert [path.name for path in (tmp_path / "bucket").iterdir()] == ["%private"]


def test_a_store_for_bundles_needs_no_swap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(fsspec._SWAPS, "flat")
    admit(MemoryBucket("memory://private"), Config(buckets={"ttl": "flat://good/x"}), RandomIds(), old=None)


def test_a_known_store_is_not_asked_again() -> None:
    root = CountingBucket(MemoryBucket("memory://known"))
    admit(root, Config(buckets={"ttl": "flat://good/x"}), RandomIds(), old=Config(buckets={"ttl": "flat://good/x"}))
    assert root.counts.total() == 0
    assert "good" not in STORES


def test_a_proof_of_a_new_bastions_store_costs_less_than_300_requests() -> None:
    root = CountingBucket(MemoryBucket("memory://new"))
    admit(root, Config(), RandomIds(), old=None)
    assert 0 < root.counts.total() < 300
    assert list(root.list("")) == []
