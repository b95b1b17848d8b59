"""What a machine is given at its creation is what its worker finds out there: which worker it is, on which machine."""

from __future__ import annotations

import pytest

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey
from bastion.platform.shell import SystemShell
from bastion.runners.delivery.archive import Archive
from bastion.runners.delivery.bootstrap import flags_of
from bastion.runners.google.machines.boot import MachineBoot
from bastion.runners.google.machines.names import host_of
from bastion.runners.google.tpu.render import machine
from bastion.stores.memory import MemoryBucket

KEY = AttemptKey("train-12345678", 2, 1)
NONCE = "0" * 32
BIRTH = MachineBoot(
    MemoryBucket("memory://which"),
    "gs://b/team",
    SystemShell(),
    {"secrets": "/s"},
    make=lambda _: Archive("ab" * 32, lambda: b"x"),
)


def told(name: str, slices: int, host: int, hosts: int, own: str = "t1v-n-5-w-9") -> dict[str, str]:
    """What the worker learns on a host of this slice."""
    attributes = {
        **BIRTH(KEY, machine("us-east5-b", "train-abc", slices, NONCE)),
        "agent-worker-number": str(host),
        "instance-id": name,
        "worker-network-endpoints": ",".join("unknown:unknown:10.0.0.1" for _ in range(hosts)),
    }
    return flags_of({"name": own, "attributes": attributes, "networkInterfaces": [{"ip": "10.0.0.7"}]})


@pytest.mark.parametrize(
    ("name", "slices", "host", "hosts", "worker"),
    [
        ("train-abc", 1, 0, 1, 0),
        ("train-abc", 1, 3, 4, 3),
        ("train-abc-0", 3, 1, 4, 1),
        ("train-abc-2", 3, 3, 4, 11),
        ("train-abc-11", 12, 0, 1, 11),
    ],
)
def test_a_host_of_a_slice_knows_which_worker_it_is(name: str, slices: int, host: int, hosts: int, worker: int) -> None:
    flags = told(name, slices, host, hosts)
    assert (flags["worker"], flags["creation"], flags["secrets"]) == (str(worker), NONCE, "/s")
    assert flags["address"] == "10.0.0.7"
    named = host_of(flags["machine"])
    assert named is not None
    assert (named.zone, named.name, named.nonce, named.host) == ("us-east5-b", name, NONCE, host)


def test_a_slice_without_a_number_is_refused() -> None:
    with pytest.raises(RunnerError, match="metadata of this machine are not those of a worker"):
        told("odd", 3, 0, 4)
