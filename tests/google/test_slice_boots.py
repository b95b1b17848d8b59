"""A TPU slice of two hosts boots on the fake cloud: both fetch the worker, find who they are, and form a gang that meets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.state.state import Cause
from bastion.model.stored.records import Peer, Peers
from bastion.platform.shell import SystemShell
from bastion.runners.delivery.archive import Archive
from bastion.runners.google.machines.boot import MachineBoot
from bastion.testing.stage import order
from tests.google.fake import Fake
from tests.google.support.booted import KEY, Post
from tests.google.support.client import ask, client
from tests.google.support.machines import Room

ZONE = "projects/test-project/locations/us-central2-b"
MEETS = """
echo "rank $RANK of $WORLD_SIZE at $MASTER_ADDR"
if [ "$RANK" = 0 ]; then echo met | nc -l -p "$MASTER_PORT"; else
    mkfifo open
    until nc "$MASTER_ADDR" "$MASTER_PORT" <>open 2>/dev/null; do sleep 0.1; done
fi
"""
"""The second one has more to say for as long as it listens: whom nobody tells anything any more, `nc` tells nothing either."""


@pytest.fixture
def cloud(tmp_path: Path, gcs_address: str) -> Iterator[Fake]:
    with Fake(machines=Room(tmp_path), machine_environ={"STORAGE_EMULATOR_HOST": gcs_address}) as fake:
        yield fake


def test_both_hosts_of_a_slice_run_their_part_of_the_gang(cloud: Fake, store: str, archive: Archive) -> None:
    post = Post(store)
    post.order(order(KEY, MEETS, workers=2, replicas=1))
    birth = MachineBoot(post.bucket, store, SystemShell(), {}, make=lambda _: archive)
    body = {
        "acceleratorType": "v4-16",
        "runtimeVersion": "tpu-ubuntu2204-base",
        "metadata": dict(birth(KEY, "us-central2-b/n/4f2a")),
        "serviceAccount": {"email": "1-compute@developer.gserviceaccount.com"},
    }
    tpu = client(cloud, "tpu")
    ask(tpu.projects().locations().nodes().create(parent=ZONE, nodeId="n", body=body))
    tpu.close()
    cloud.clock.advance(100)
    cloud.machines.settle()

    post.until(lambda: None not in (post.claim(0), post.claim(1)), "claims")
    claims = [post.claim(0), post.claim(1)]
    members = [Peer(address=claim.address, port=claim.port) for claim in claims if claim]
    post.bucket.create(layout.peers(KEY), encode(Peers(members=members)))
    facts = [post.ended(0), post.ended(1)]
    assert [each.cause for each in facts] == [Cause.OK, Cause.OK]
    assert [each.machine for each in facts] == ["us-central2-b/n/4f2a/0", "us-central2-b/n/4f2a/1"]
    head = members[0].address
    assert head != members[1].address
    assert post.log(0) == f"rank 0 of 2 at {head}\n"
    assert post.log(1) == f"rank 1 of 2 at {head}\nmet\n"
