"""What a machine is told at its creation, and what its worker reads of that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey
from bastion.runners.delivery.bootstrap import SCRIPT, MachineGroup, flags_of, metadata
from bastion.runners.google.machines.metadata import MAINTAINED_S, MAINTAINED_WITH_GPUS_S, PREEMPTED_S, farewell

KEY = AttemptKey("train-12345678", 3, 1)
BUILD = "ab" * 32
NASTY = "a b'\"$(x)`y`\\;&|\u00e9"


def boot(**changes: Any) -> MachineGroup:
    fields: dict[str, Any] = {
        "key": KEY,
        "machine": "z/n/4f2a",
        "base": 4,
        "bucket": "gs://b/team/demo",
        "build": BUILD,
    }
    return MachineGroup(**{**fields, **changes})


def instance(told: dict[str, str], name: str = "bastion-train-0-7", **more: str) -> dict[str, Any]:
    """What the metadata server of a machine says that was told so."""
    return {
        "attributes": {**told, **more},
        "name": name,
        "networkInterfaces": [{"ip": "10.0.0.7"}],
        "preempted": "FALSE",
    }


def test_a_worker_reads_what_the_runner_wrote() -> None:
    told = metadata(boot(flags={"ttl_bucket": "gs://t/demo"}))
    assert flags_of(instance(told)) == {
        "job": KEY.job,
        "task": "3",
        "attempt": "1",
        "bucket": "gs://b/team/demo",
        "run_as": "bastion-job",
        "ttl_bucket": "gs://t/demo",
        "machine": "z/n/4f2a/0",
        "worker": "4",
        "address": "10.0.0.7",
    }


def test_the_hosts_of_a_slice_are_told_apart_by_their_number() -> None:
    found = flags_of(instance(metadata(boot()), **{"agent-worker-number": "2"}))
    assert (found["machine"], found["worker"]) == ("z/n/4f2a/2", "6")


def test_the_machines_of_one_insertion_are_told_apart_by_their_names() -> None:
    found = flags_of(instance(metadata(boot(machine="z/*/4f2a"))))
    assert (found["machine"], found["worker"]) == ("z/bastion-train-0-7/4f2a/0", "11")


def test_nothing_that_differs_is_in_the_script() -> None:
    told = metadata(boot(bucket=f"gs://b/{NASTY}/demo", flags={"secrets": NASTY}))
    assert told["startup-script"] == SCRIPT == metadata(boot())["startup-script"]
    assert flags_of(instance(told))["secrets"] == NASTY
    assert all(isinstance(value, str) for value in told.values())


def test_the_archive_is_asked_for_by_a_name_that_needs_no_quotes() -> None:
    told = metadata(boot(bucket=f"gs://b/{NASTY}/demo"))
    assert set(told["bastion-archive"]) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/%._~-?=")
    assert metadata(boot())["bastion-archive"] == f"storage/v1/b/b/o/team%2Fdemo%2Fbuilds%2F{BUILD}.tar.gz?alt=media"


def _less(told: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in told.items() if key != name}


TOLD = metadata(boot())
BAD = [
    {},
    {"attributes": None, "name": "n"},
    instance(_less(TOLD, "machine")),
    instance(_less(TOLD, "bastion-worker")),
    instance(TOLD, **{"bastion-worker": "{"}),
    instance(TOLD, **{"bastion-worker": "[1]"}),
    instance(TOLD, **{"worker-base": "x"}),
    instance(TOLD, **{"agent-worker-number": ""}),
    instance(metadata(boot(machine="z/*/n")), name="no-number-here"),
    {**instance(TOLD), "networkInterfaces": []},
]


@pytest.mark.parametrize("found", BAD)
def test_metadata_of_another_kind_are_refused_in_one_line(found: dict[str, Any]) -> None:
    with pytest.raises(RunnerError, match="the metadata of this machine are not those of a worker") as refused:
        flags_of(json.loads(json.dumps(found)))
    assert "\n" not in str(refused.value)


def test_a_preempted_machine_is_taken_away_within_half_a_minute() -> None:
    found = farewell({"preempted": "TRUE", "maintenanceEvent": "NONE"}, gpus=True)
    assert found is not None
    assert found.seconds == PREEMPTED_S < 30


def test_only_maintenance_that_ends_a_machine_takes_it_away() -> None:
    event = {"preempted": "FALSE", "maintenanceEvent": "TERMINATE_ON_HOST_MAINTENANCE"}
    found = [farewell(event, gpus=gpus) for gpus in (False, True)]
    assert [each and each.seconds for each in found] == [MAINTAINED_S, MAINTAINED_WITH_GPUS_S]
    for word in ("NONE", "MIGRATE_ON_HOST_MAINTENANCE", ""):
        assert farewell({"preempted": "FALSE", "maintenanceEvent": word}, gpus=True) is None
    assert farewell({}, gpus=False) is None
