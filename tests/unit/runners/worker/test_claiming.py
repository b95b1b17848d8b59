"""Two creations of one slice never make one gang: who did not come with the first worker claims nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import AttemptKey
from bastion.model.stored.records import Claim
from bastion.platform.system import RandomIds
from bastion.runners.google.machines.names import GoogleHost
from bastion.runners.kubernetes.names import pod_id
from bastion.runners.slurm.render import SlurmJobName, SlurmNode
from bastion.runners.worker.interfaces import WorkerIdentity
from bastion.runners.worker.run import NOTHING_DONE, run
from tests.support.doors import memory
from tests.support.world import HandClock

KEY = AttemptKey("train-12345678", 0, 0)


class Claims(Exception):
    """The worker went on to claim."""


def worker(bucket: Any, nonce: str, sleep: Any = None, worker: int = 1) -> int:
    """A worker of this creation, up to its claim."""

    class Stops:
        url = bucket.url

        def __getattr__(self, name: str) -> Any:
            return getattr(bucket, name)

        def create(self, key: str, data: bytes) -> str | None:
            raise Claims(key)

    clock = HandClock()
    clock.sleep = sleep or clock.sleep  # type: ignore[method-assign]
    machine = SimpleNamespace(free_port=lambda: 1, clear=lambda: None)
    context = SimpleNamespace(bucket=Stops(), clock=clock, ids=RandomIds(), machine=machine)
    post = WorkerIdentity(key=KEY, worker=worker, machine=f"z/n/{nonce}/{worker}", address="a", creation=nonce)
    return run(post, context)  # type: ignore[arg-type]


def claimed(bucket: Any, **fields: Any) -> None:
    bucket.create(layout.claim(KEY, 0), encode(Claim(nonce="n", **fields)))


def test_who_came_with_the_first_claims() -> None:
    bucket = memory()
    claimed(bucket, machine="z/n/aaaa/0")
    with pytest.raises(Claims, match=layout.claim(KEY, 1)):
        worker(bucket, "aaaa")


@pytest.mark.parametrize(
    "first",
    [
        str(SlurmNode(1, 0, "aaaa", SlurmJobName("scope-1", KEY, 7, "aaaa"))),
        str(GoogleHost(zone="z", name="n", nonce="aaaa", host=0)),
        pod_id("n", "aaaa", "uid"),
    ],
)
def test_the_creation_is_found_in_the_ids_of_every_runner_that_asks_for_it(first: str) -> None:
    bucket = memory()
    claimed(bucket, machine=first)
    with pytest.raises(Claims, match=layout.claim(KEY, 1)):
        worker(bucket, "aaaa")
    assert worker(bucket, "bbbb") == NOTHING_DONE


def test_who_came_otherwise_does_nothing() -> None:
    bucket = memory()
    claimed(bucket, machine="z/n/aaaa/0")
    assert worker(bucket, "bbbb") == NOTHING_DONE


def test_the_first_is_waited_for_and_waits_for_nobody() -> None:
    bucket = memory()
    with pytest.raises(Claims):
        worker(bucket, "aaaa", worker=0)
    waits = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            claimed(bucket, machine="z/n/aaaa/0")

    with pytest.raises(Claims):
        worker(bucket, "aaaa", sleep)
    assert len(waits) == 3


def test_an_attempt_that_was_given_up_or_left_long_ago_is_waited_for_by_nobody() -> None:
    bucket = memory()
    claimed(bucket, void=True)
    assert worker(bucket, "aaaa") == NOTHING_DONE
    gone = memory()
    gone.create(layout.ended(KEY.job), b"{}")
    assert worker(gone, "aaaa") == NOTHING_DONE
