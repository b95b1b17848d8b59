"""The runner of TPU slices, against the fake: one queued resource an attempt, zones in turn, and everything deleted again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from bastion.model.errors import NotReady, RunnerError
from bastion.model.interfaces import AttemptKey, MachineExistence
from bastion.runners.google.api.interface import CredentialsMissing, GoogleError, PermissionMissing
from tests.google.support.tpus import KEY, OTHER_ZONE, V5_ZONE, ZONE, Ground, ground, placement, settings

OTHER = AttemptKey("other-87654321", 4, 1)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    with ground(monkeypatch) as found:
        yield found


def test_a_slice_comes_by_one_queued_resource_with_all_its_hosts(here: Ground) -> None:
    here.ask()
    pending = here.runner.list()
    assert [(m.key, m.worker, m.epoch, m.seen) for m in pending] == [(KEY, n, 3, False) for n in range(4)]
    assert here.runner.waiting() == {KEY: f"v6e-16 (on-demand) is queued in {ZONE}"}
    there = here.passes(600)
    assert [m.id for m in there] == [m.id for m in pending]
    assert all(m.seen and not m.doomed for m in there)
    assert here.runner.waiting() == {}
    assert here.creations() == [ZONE]
    ((_, node),) = here.rows("nodes").items()
    assert node["labels"]["job"] == "train-12345678"
    assert node["networkConfig"]["enableExternalIps"] is False
    assert node["runtimeVersion"] == "v2-alpha-tpuv6e"
    assert there[0].id.startswith(node["metadata"]["machine"])


def test_several_slices_are_one_gang(here: Ground) -> None:
    machines = here.up(slices=3)
    assert [m.worker for m in machines] == list(range(12))
    assert len(here.rows("queuedResources")) == 1
    assert sorted(here.rows("nodes")) == sorted({m.id.split("/")[1] for m in machines})
    assert {node["metadata"]["machine"].split("/")[1] for node in here.rows("nodes").values()} == {"*"}


def test_how_it_is_bought_is_the_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    google = settings(ZONE, tiers=["reserved", "spot", "on-demand"], network="net", service_account="w@p.iam.x.com")
    with ground(monkeypatch, google) as here:
        here.fake.put("projects/test-project/global/networks/net", autoCreateSubnetworks=True)
        for tier in range(3):
            here.ask(AttemptKey("j-12345678", 0, tier), {"v6e": 8}, tier=tier)
        rows = sorted(here.rows("queuedResources").values(), key=lambda row: row["createTime"])
    bodies = [call.body for call in here.fake.calls("tpu.projects.locations.queuedResources.create")]
    nodes = [body["tpu"]["nodeSpec"][0]["node"] for body in bodies]
    assert [("guaranteed" in body, "spot" in body) for body in bodies] == [(True, False), (False, True), (False, False)]
    assert [node.get("schedulingConfig") for node in nodes] == [{"reserved": True}, None, None]
    assert {node["networkConfig"]["network"] for node in nodes} == {"net"}
    assert len(rows) == 3


def test_create_is_idempotent_also_after_lost_answers_and_restarts(here: Ground) -> None:
    here.fake.faults.lose_answer("tpu.*queuedResources.create", times=9)
    with pytest.raises(GoogleError):
        here.ask()
    here.fake.faults.calm()
    here.ask()
    here.again()
    here.runner.create(placement(here.runner))  # nothing is known, nothing listed
    here.ask()
    assert len(here.rows("queuedResources")) == 1
    assert {*here.creations()} == {ZONE}


def test_a_creation_that_may_have_been_heard_is_asked_for_nowhere_else(here: Ground) -> None:
    here.fake.faults.come_late("tpu.*queuedResources.create", 300, times=9)
    with pytest.raises(GoogleError):
        here.ask()
    here.fake.faults.calm()
    here.fake.faults.stock_out(ZONE, fails=True)
    here.ask()
    assert {*here.creations()} == {ZONE}
    here.passes(400)
    assert len(here.rows("queuedResources")) == 1


def test_zones_are_tried_in_turn_and_refusals_remembered(here: Ground) -> None:
    here.fake.faults.stock_out(ZONE, fails=True)
    here.ask()
    doomed = here.passes(60)
    assert all(m.doomed for m in doomed)
    for machine in doomed:
        here.runner.delete(machine.id)
    here.ask()
    here.ask(OTHER)
    assert here.creations() == [ZONE, OTHER_ZONE, OTHER_ZONE]
    assert here.passes(600)[0].id.startswith(OTHER_ZONE)
    assert {row["name"].split("/")[3] for row in here.fake.rows("queuedResources").values()} == {OTHER_ZONE}
    here.fake.faults.restock(ZONE)
    here.passes(1800)
    here.ask(AttemptKey("third-12345678", 0, 0))
    assert here.creations()[-1] == ZONE


def test_a_wait_ends_and_goes_on_elsewhere(here: Ground) -> None:
    here.fake.faults.stock_out(ZONE)
    here.ask()
    here.passes(60)
    assert here.runner.waiting() == {KEY: f"v6e-16 (on-demand) is queued in {ZONE}"}
    assert all(m.doomed for m in here.passes(1900))
    here.ask()
    assert here.creations() == [ZONE, OTHER_ZONE]


def test_a_zone_without_the_type_is_passed_over_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with ground(monkeypatch, settings("us-east4-a", V5_ZONE, ZONE)) as here:  # the first has no TPUs at all
        here.ask()
        assert here.creations() == [V5_ZONE, ZONE]
    with ground(monkeypatch, settings(V5_ZONE)) as here:
        with pytest.raises(NotReady):
            here.ask()
        told = here.runner.waiting()[KEY]
        assert 'Accelerator type "v6e-16" is not available in zone "us-west4-a"' in told
        assert "add a zone that has it to zones of [google]" in told
    with (
        ground(monkeypatch, settings("us-east4-a")) as here,
        pytest.raises(RunnerError, match="no zone with TPUs; add one"),
    ):
        here.runner.list()


def test_who_lacks_a_right_is_told_which_and_how_to_get_it(here: Ground) -> None:
    here.fake.faults.deny("tpu.nodes.create")
    with pytest.raises(
        PermissionMissing,
        match=r"lacks tpu\.nodes\.create on .*; run: gcloud projects add-iam-policy-binding test-project",
    ):
        here.ask()
    assert "lacks tpu.nodes.create" in here.runner.waiting()[KEY]
    asked = len(here.creations())
    with pytest.raises(NotReady):
        here.ask(OTHER)  # it is not asked for each job
    assert len(here.creations()) == asked
    here.fake.faults.allow("tpu.nodes.create")
    here.passes(60)
    here.ask()
    assert len(here.rows("queuedResources")) == 1


def test_credentials_that_lapse_make_it_blind_and_say_so(here: Ground) -> None:
    here.up()
    here.fake.faults.expire_credentials()
    with pytest.raises(CredentialsMissing, match="gcloud auth application-default login"):
        here.runner.list()
    here.fake.faults.renew_credentials()
    assert len(here.runner.list()) == 4


def test_a_network_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with ground(monkeypatch, settings(ZONE, network="gone-net")) as here:
        with suppress(NotReady):
            here.ask()
        for machine in here.passes(120):
            here.runner.delete(machine.id)
        here.passes(120)
        with pytest.raises(NotReady):
            here.ask()
        assert "gone-net" in here.runner.waiting()[KEY]
        assert "network of [google]" in here.runner.waiting()[KEY]


def test_quota_that_is_used_up_is_said_and_another_zone_tried(here: Ground) -> None:
    here.fake.faults.limit("v6e", 8, place=ZONE)
    here.ask()
    assert here.creations() == [ZONE, OTHER_ZONE]
    here.fake.faults.limit("v6e", 8)
    with pytest.raises(NotReady):
        here.ask(OTHER)
    assert "the quota of project test-project is used up" in here.runner.waiting()[OTHER]
    assert "https://console.cloud.google.com/iam-admin/quotas?project=test-project" in here.runner.waiting()[OTHER]


def test_a_preempted_slice_is_gone_by_the_second_answer_and_is_deleted(here: Ground) -> None:
    machines = here.up()
    here.fake.preempt(machines[0].id.split("/")[1])
    after = here.passes(60)
    assert all(m.doomed and not m.seen for m in after)
    assert [here.runner.look(m.id) for m in machines] == [MachineExistence.UNREACHABLE] * 4
    for machine in after:
        here.runner.delete(machine.id)
    here.passes(10)
    assert [here.runner.look(m.id) for m in machines] == [MachineExistence.GONE] * 4
    assert here.passes(600) == []
    assert here.rows("queuedResources") == here.rows("nodes") == {}


def test_a_slice_is_deleted_when_that_was_asked_for_all_its_hosts(here: Ground) -> None:
    machines = here.up()
    for machine in machines[:3]:
        here.runner.delete(machine.id)
    assert len(here.passes(600)) == 4
    here.again().list()
    for machine in machines:
        here.runner.delete(machine.id)
        here.runner.delete(machine.id)
    assert here.passes(600) == []
    assert len(here.fake.calls("tpu.projects.locations.queuedResources.delete")) == 1
    here.runner.delete(machines[0].id)


def test_what_is_deleted_is_of_that_creation(here: Ground) -> None:
    machines = here.up()
    for machine in machines:
        here.runner.delete(machine.id)
    here.passes(600)
    later = here.up()
    assert {m.id for m in later}.isdisjoint(m.id for m in machines)
    for machine in machines:
        here.runner.delete(machine.id)
    here.passes(10)
    assert [here.runner.look(m.id) for m in machines] == [MachineExistence.UNREACHABLE] * 4
    here.passes(10)
    assert [here.runner.look(m.id) for m in machines] == [MachineExistence.GONE] * 4
    assert len(here.passes(600)) == 4


def test_a_zone_that_does_not_answer_makes_it_blind(here: Ground) -> None:
    machines = here.up()
    here.fake.faults.fail("tpu.projects.locations.nodes.list", 503, times=99)
    with pytest.raises(GoogleError):
        here.runner.list()
    here.fake.faults.fail("tpu.projects.locations.nodes.get", 503, times=99)
    assert here.runner.look(machines[0].id) is MachineExistence.UNREACHABLE


def test_nobody_is_gone_for_a_listing_that_lags(here: Ground) -> None:
    here.fake.faults.lag_lists(120)
    here.ask()
    assert here.passes(10) == []
    here.ask()
    assert len(here.rows("queuedResources")) == 1
    machines = here.passes(600)
    assert all(m.seen for m in machines)
    assert here.runner.look(machines[0].id) is MachineExistence.THERE


def test_a_slice_that_is_not_well_for_long_is_replaced(here: Ground) -> None:
    machines = here.up()
    here.fake.sicken(machines[0].id.split("/")[1])
    assert not any(m.doomed for m in here.passes(10))
    assert all(m.seen and m.doomed for m in here.passes(400))


def test_what_others_have_is_not_ours(here: Ground) -> None:
    here.up()
    other = here.again()
    other = type(other)(context=replace(other.context, scope="another-89abcdef"))
    assert other.list() == ()
    other.create(placement(other))
    assert len(here.rows("queuedResources")) == 2


def test_what_is_no_slice_is_refused(here: Ground) -> None:
    for resources, said in (
        ({"v6e": 24}, "did you mean tpu-v6e-32"),
        ({"v6e": 8, "cpu": 1}, "has one kind"),
        ({"h100": 8}, "has one kind"),
        ({"7x": 128}, "Kubernetes"),
    ):
        with pytest.raises(RunnerError, match=said):
            here.runner.workers(resources, 1)
    assert here.runner.workers({"v6e": 16}, 3) == 12
