"""What Google will not do, from its answer to the eyes of a person: every message says what, on which object, what to do.

All of it goes through a whole bastion that asks as its own account, with the rights of `bastion create` and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from bastion.model.layout import INBOX
from tests.google.fake.fake import PROJECT
from tests.google.support.city import ZONES, City, city

MACHINES = {"tpu": "nodes", "gce": "instances"}
WANTS = {"tpu": "--instance_type=tpu-v6e-8", "gce": "--instance_type=gpu-l4-1"}
Found = Callable[..., City]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Iterator[Found]:
    """Makes a city with a runner, by its name and more of `[google]`."""
    with ExitStack() as stack:
        yield lambda runner, **more: stack.enter_context(city(monkeypatch, runner, **more))


def submitted(here: City, name: str = "train") -> None:
    runner = here.runner.name
    code, said = here.launch(WANTS[runner], name=name)
    assert code == 0, said
    here.ticks(2)


def up(here: City) -> None:
    """A job whose machines Google has given."""
    submitted(here)
    there = partial(rows, here, MACHINES[here.runner.name])
    here.until(lambda: any(row.get("state", row.get("status")) in ("READY", "RUNNING") for row in there()))


def rows(here: City, kind: str) -> list[Any]:
    return list(here.fake.rows(kind).values())


@pytest.mark.parametrize(
    ("runner", "wanted", "said"),
    [
        ("tpu", "tpu-v6e-9", "did you mean tpu-v6e-8"),
        ("tpu", "tpu-v9-8", "did you mean tpu-v"),
        ("gce", "gpu-h1000-8", "did you mean gpu-h100"),
        ("gce", "tpu-v6e-8", "this fleet has no v6e; it has "),
        ("tpu", "gpu-l4-1", "this fleet has no l4; it has "),
    ],
)
def test_a_wrong_instance_type_is_answered_with_the_nearest_and_nothing_is_asked(
    found: Found, runner: str, wanted: str, said: str
) -> None:
    here = found(runner)
    code, answer = here.launch(f"--instance_type={wanted}")
    assert code == 1, answer
    assert said in answer
    here.ticks(3)
    assert not [
        call for call in here.fake.calls() if "create" in call.method.lower() and call.account == here.host.account
    ]


@pytest.mark.parametrize("wanted", ["gpu-h100-12", "gpu-h100-3"])
def test_what_no_vms_make_up_is_refused_with_the_nearest_that_they_do(found: Found, wanted: str) -> None:
    """At once, for the bastion has said that its machines are Google's: one's own may have as many GPUs as one likes."""
    here = found("gce")
    code, answer = here.launch(f"--instance_type={wanted}")
    assert code == 1, answer
    assert f"did you mean gpu-h100-{'16' if wanted == 'gpu-h100-12' else '4'}?" in answer
    assert [*here.bucket.list(INBOX)] == []


@pytest.mark.parametrize(
    ("runner", "zone", "named"),
    [
        ("tpu", "us-west4-a", 'Accelerator type "v6e-8" is not available in zone "us-west4-a"'),
        ("gce", "us-central1-f", "does not exist in zone 'us-central1-f'"),
    ],
)
def test_a_zone_without_the_type_is_named(found: Found, runner: str, zone: str, named: str) -> None:
    here = found(runner, zones=[zone])
    submitted(here)
    here.until(lambda: "add a zone" in here.why())
    assert named in here.why()
    assert "add a zone that has it to zones of [google] in config.toml" in here.why()


@pytest.mark.parametrize(("runner", "right"), [("tpu", "tpu.nodes.create"), ("gce", "compute.instances.create")])
def test_a_missing_right_is_told_with_the_resource_the_account_and_the_way_to_it(
    found: Found, runner: str, right: str
) -> None:
    here = found(runner)
    here.fake.faults.deny(right, account=here.host.account)
    submitted(here)
    here.until(lambda: "lacks" in here.why())
    lacks = f"{here.host.account} lacks {right} on projects/{PROJECT}"
    gives = f"run: gcloud projects add-iam-policy-binding {PROJECT} --member=serviceAccount:{here.host.account} --role=roles/"
    assert lacks in here.why()
    assert gives in here.why()
    assert any(lacks in one and gives in one for one in here.problems())
    assert lacks in here.doctor()
    here.fake.faults.allow(right)
    here.until(lambda: not here.problems())
    here.until(lambda: bool(rows(here, MACHINES[runner])))


def test_machines_that_may_not_run_as_their_account_are_told_of_it(found: Found) -> None:
    here = found("gce", service_account=f"trainer@{PROJECT}.iam.gserviceaccount.com")
    here.fake.faults.deny("iam.serviceAccounts.actAs", account=here.host.account)
    submitted(here)
    here.until(lambda: "actAs" in here.why())
    assert "gcloud iam service-accounts add-iam-policy-binding trainer@" in here.why()
    assert "--role=roles/iam.serviceAccountUser" in here.why()


@pytest.mark.parametrize("runner", ["tpu", "gce"])
def test_credentials_that_expire_in_the_middle_of_a_run_end_nothing_and_are_told(found: Found, runner: str) -> None:
    here = found(runner)
    up(here)
    before = here.bastion.journal.state.live_attempts()[0][0]
    here.fake.faults.expire_credentials()
    here.until(lambda: any("cannot log in any more" in one for one in here.problems()))
    assert any(here.host.account in one and "exists and is enabled" in one for one in here.problems())
    assert "cannot log in any more" in here.doctor()
    here.fake.faults.renew_credentials()
    here.until(lambda: not here.problems())
    (now,) = (key for key, _, _ in here.bastion.journal.state.live_attempts())
    assert now == before


@pytest.mark.parametrize("runner", ["tpu", "gce"])
def test_a_network_that_was_deleted_under_a_fleet_is_named(found: Found, runner: str) -> None:
    here = found(runner, network="ours")
    put_network(here)
    up(here)
    for name in [
        name for kind in ("networks", "subnetworks") for name in here.fake.rows(kind) if name.endswith("/ours")
    ]:
        here.fake.cloud.rows.put(name, None)
    submitted(here, name="next")
    here.until(lambda: "in config.toml" in here.why("next"))
    assert "/ours" in here.why("next")
    assert "ask an admin to create it again, or change network of [google] in config.toml" in here.why("next")
    assert "its machines are there" not in here.why("next")


@pytest.mark.parametrize(("runner", "metric"), [("tpu", "v6e"), ("gce", "NVIDIA_L4_GPUS")])
def test_a_quota_that_is_used_up_is_told_with_the_page_to_ask_for_more(found: Found, runner: str, metric: str) -> None:
    here = found(runner)
    here.fake.faults.limit(metric, 0)
    submitted(here)
    here.until(lambda: "used up" in here.why())
    assert f"the quota of project {PROJECT} is used up" in here.why()
    assert f"ask for more: https://console.cloud.google.com/iam-admin/quotas?project={PROJECT}" in here.why()
    assert ZONES[runner] in here.why() or ZONES[runner].rpartition("-")[0] in here.why()


@pytest.mark.parametrize("runner", ["tpu", "gce"])
def test_an_api_that_is_switched_off_is_told_with_the_command_that_switches_it_on(found: Found, runner: str) -> None:
    here = found(runner)
    api = {"tpu": "tpu.googleapis.com", "gce": "compute.googleapis.com"}[runner]
    here.fake.faults.disable(api)
    here.until(lambda: bool(here.problems()))
    assert any(
        f"{api} is not enabled in project {PROJECT}; run: gcloud services enable {api}" in one
        for one in here.problems()
    )


def put_network(here: City) -> None:
    here.fake.put(f"projects/{PROJECT}/global/networks/ours", name="ours", autoCreateSubnetworks=True)
