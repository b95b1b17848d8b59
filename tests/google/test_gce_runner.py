"""The runner of VMs, against the fake: one bulk insertion an attempt, zones in turn, and everything deleted again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bastion.model.errors import NotReady, RunnerError
from bastion.model.interfaces import AttemptKey, Machine, MachineExistence
from bastion.model.settings.tables import GoogleSettings
from bastion.runners.google.api.interface import CredentialsMissing, GoogleError, PermissionMissing
from tests.google.fake.fake import PROJECT
from tests.google.support.gces import BULK, FAR_ZONE, OTHER_ZONE, ZONE, Ground, ground, settings
from tests.google.support.tpus import KEY, placement

OTHER = AttemptKey("other-87654321", 4, 1)
L4, GANG = {"l4": 1}, {"a100": 8}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    with ground(monkeypatch) as found:
        yield found


def test_a_gang_comes_by_one_insertion_under_names_of_its_own(here: Ground) -> None:
    here.ask(resources=L4, slices=3)
    pending = here.runner.list()
    assert [(m.key, m.worker, m.epoch, m.seen) for m in pending] == [(KEY, n, 3, False) for n in range(3)]
    assert here.runner.waiting() == {KEY: f"3 g2-standard-4 are being set up in {ZONE}"}
    there = here.passes(300)
    assert [m.id for m in there] == [m.id for m in pending]
    assert all(m.seen and not m.doomed for m in there)
    assert here.runner.waiting() == {}
    assert here.creations() == [ZONE]
    (body,) = here.bodies()
    assert (body["count"], body["minCount"]) == ("3", "3")
    assert sorted(body["perInstanceProperties"]) == sorted(here.rows("instances"))
    vm = next(iter(here.rows("instances").values()))
    assert vm["labels"]["job"] == "train-12345678"
    assert all("accessConfigs" not in net for net in vm["networkInterfaces"])
    assert there[0].id.split("/")[2] == vm["labels"]["nonce"]


def test_a_replica_may_be_several_machines(here: Ground) -> None:
    assert here.runner.workers({"h100": 16}, 3) == 6
    assert len(here.up(resources={"l4": 16})) == 2


def test_how_it_is_bought_is_the_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    tiers = ["reserved", "spot", "on-demand", "flex-start"]
    google = settings(ZONE, tiers=tiers, reservations={"l4": "ours"}, network="default", images={"l4": "family/mine"})
    with ground(monkeypatch, google) as here:
        here.fake.put(f"projects/test-project/zones/{ZONE}/reservations/ours", specificReservation={"count": "4"})
        here.fake.put("projects/test-project/global/images/mine-1", family="mine", name="mine-1")
        for tier in range(4):
            here.ask(AttemptKey("j-12345678", 0, tier), L4, tier=tier)
        assert len([m for m in here.passes(300) if m.seen]) == 4
        made = [body["instanceProperties"] for body in here.bodies()]
    assert [one["scheduling"]["provisioningModel"] for one in made] == ["STANDARD", "SPOT", "STANDARD", "FLEX_START"]
    assert [one["scheduling"].get("instanceTerminationAction") for one in made] == [None, "DELETE", None, "DELETE"]
    assert [one["reservationAffinity"].get("values") for one in made] == [["ours"], None, None, None]
    assert {one["scheduling"]["onHostMaintenance"] for one in made} == {"TERMINATE"}
    assert not any(one["scheduling"]["automaticRestart"] for one in made)
    disks = {one["disks"][0]["initializeParams"]["sourceImage"] for one in made}
    assert disks == {"global/images/family/mine"}


def test_all_or_none_and_zones_in_turn(here: Ground) -> None:
    here.fake.faults.leave(ZONE, "g2-*", 2)
    here.ask(resources=L4, slices=3)
    here.passes(120)
    assert here.rows("instances") == {}
    assert "no capacity there now" in here.runner.waiting()[KEY]
    here.ask(resources=L4, slices=3)
    here.ask(OTHER, L4, slices=3)
    assert here.creations() == [ZONE, OTHER_ZONE, OTHER_ZONE]
    assert len([m for m in here.passes(300) if m.seen]) == 6
    here.fake.faults.restock(ZONE, "g2-*")
    here.passes(1800)
    here.ask(AttemptKey("third-12345678", 0, 0), L4, slices=3)
    assert here.creations()[-1] == ZONE


def test_create_is_idempotent_also_after_lost_answers_and_restarts(here: Ground) -> None:
    here.fake.faults.lose_answer(BULK, times=99)
    with pytest.raises(GoogleError):
        here.ask(resources=L4)
    here.fake.faults.calm()
    here.ask(resources=L4)
    here.again()
    here.runner.create(placement(here.runner, resources=L4))  # nothing is known, nothing listed
    here.passes(300)
    here.ask(resources=L4)
    assert len(here.rows("instances")) == 1
    assert {*here.creations()} == {ZONE}


def test_an_insertion_that_may_have_been_heard_is_asked_for_nowhere_else(here: Ground) -> None:
    here.fake.faults.come_late(BULK, 300, times=99)
    with pytest.raises(GoogleError):
        here.ask(resources=L4)
    here.fake.faults.calm()
    here.ask(resources=L4)
    assert {*here.creations()} == {ZONE}
    here.passes(900)
    assert len(here.rows("instances")) == 1


def test_a_gang_is_placed_together_and_its_placement_goes_after_it(here: Ground) -> None:
    with pytest.raises(NotReady, match="placement"):
        here.ask(resources=GANG, slices=2)
    assert here.creations() == []
    machines = here.up(resources=GANG, slices=2)
    (policy,) = here.rows("resourcePolicies").values()
    assert policy["groupPlacementPolicy"] == {"collocation": "COLLOCATED"}
    assert here.bodies()[0]["instanceProperties"]["resourcePolicies"] == [policy["name"]]
    here.passes(300)
    assert len(here.rows("resourcePolicies")) == 1
    _delete(here, machines)
    here.again()
    for _ in range(4):
        here.passes(60)
    assert here.rows("resourcePolicies") == here.rows("instances") == here.rows("disks") == {}


def _delete(here: Ground, machines: list[Machine]) -> None:
    for machine in machines:
        here.runner.delete(machine.id)


def test_a_zone_without_the_type_is_passed_over_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with ground(monkeypatch, settings(FAR_ZONE, ZONE)) as here:
        here.ask(resources={"a100": 1})
        assert here.creations() == [FAR_ZONE, ZONE]
    with ground(monkeypatch, settings(FAR_ZONE)) as here:
        with pytest.raises(NotReady):
            here.ask(resources={"a100": 1})
        told = here.runner.waiting()[KEY]
    assert "a2-highgpu-1g' does not exist in zone 'us-east4-a'" in told
    assert "add a zone that has it to zones of [google]" in told
    with (
        ground(monkeypatch, GoogleSettings(project=PROJECT)) as here,
        pytest.raises(RunnerError, match="is empty; add zones"),
    ):
        here.ask(resources=L4)


def test_who_lacks_a_right_is_told_which_and_how_to_get_it(here: Ground) -> None:
    here.fake.faults.deny("compute.instances.create")
    with pytest.raises(
        PermissionMissing,
        match=r"lacks compute\.instances\.create on .*; run: gcloud projects add-iam-policy-binding test-project",
    ):
        here.ask(resources=L4)
    assert "lacks compute.instances.create" in here.runner.waiting()[KEY]
    asked = len(here.creations())
    with pytest.raises(NotReady):
        here.ask(OTHER, L4)  # it is not asked for each job
    assert len(here.creations()) == asked
    here.fake.faults.allow("compute.instances.create")
    here.passes(60)
    here.ask(resources=L4)
    assert len(here.rows("instances")) == 1


def test_credentials_that_lapse_make_it_blind_and_say_so(here: Ground) -> None:
    here.up(resources=L4)
    here.fake.faults.expire_credentials()
    with pytest.raises(CredentialsMissing, match="gcloud auth application-default login"):
        here.runner.list()
    here.fake.faults.renew_credentials()
    assert len(here.runner.list()) == 1


@pytest.mark.parametrize(
    ("more", "named", "advice"),
    [
        ({"network": "gone-net"}, "gone-net", "network of [google]"),
        ({"subnetwork": "gone-sub"}, "gone-sub", "network of [google]"),
        ({"images": {"l4": "gone-image"}}, "gone-image", "images of [google]"),
        (
            {"service_account": "w@test-project.iam.gserviceaccount.com"},
            "w@test-project",
            "service_account of [google]",
        ),
        ({"tiers": ["reserved"], "reservations": {"l4": "gone-res"}}, "gone-res", "reservations of [google]"),
    ],
)
def test_what_the_settings_name_and_is_gone_is_said(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, object], named: str, advice: str
) -> None:
    with ground(monkeypatch, settings(ZONE, **more)) as here:
        for _ in range(2):
            try:
                here.ask(resources=L4)
            except NotReady:
                break
            here.passes(120)
        told = here.runner.waiting()[KEY]
        assert named in told
        assert advice in told


def test_quota_that_is_used_up_is_said_and_another_region_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with ground(monkeypatch, settings(ZONE, FAR_ZONE)) as here:
        here.fake.faults.limit("NVIDIA_L4_GPUS", 1, place="us-central1")
        here.up(resources=L4)
        here.ask(OTHER, L4)
        here.passes(120)
        assert "the quota of project test-project is used up" in here.runner.waiting()[OTHER]
        assert "https://console.cloud.google.com/iam-admin/quotas?project=test-project" in here.runner.waiting()[OTHER]
        here.ask(OTHER, L4)
        assert here.creations() == [ZONE, ZONE, FAR_ZONE]


def test_a_spot_vm_that_is_taken_back_is_gone_by_the_second_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with ground(monkeypatch, settings(tiers=["spot"])) as here:
        (machine,) = here.up(resources=L4)
        here.fake.preempt(machine.id.split("/")[1])
        assert here.passes(10) == []
        assert here.runner.look(machine.id) is MachineExistence.UNREACHABLE
        here.fake.clock.advance(10)
        assert here.runner.look(machine.id) is MachineExistence.GONE
        assert here.rows("disks") == {}


def test_a_vm_that_stopped_is_doomed_and_deleted_with_its_disk(here: Ground) -> None:
    (machine,) = here.up(resources=L4)
    here.fake.maintain(machine.id.split("/")[1], 60)
    (after,) = here.passes(120)
    assert after.doomed
    assert not after.seen
    here.runner.delete(machine.id)
    here.runner.delete(machine.id)
    assert len(here.fake.calls("compute.instances.delete")) == 1
    assert here.passes(300) == []
    assert here.rows("instances") == here.rows("disks") == {}


def test_a_deletion_that_hangs_is_asked_for_again(here: Ground) -> None:
    (machine,) = here.up(resources=L4)
    name = machine.id.split("/")[1]
    here.fake.faults.hang_deletion(name)
    here.runner.delete(machine.id)
    assert all(m.doomed for m in here.passes(600))
    here.fake.faults.let_go(name)
    here.runner.delete(machine.id)
    assert here.passes(120) == []


def test_one_of_a_gang_is_deleted_alone(here: Ground) -> None:
    machines = here.up(resources=L4, slices=3)
    here.runner.delete(machines[1].id)
    assert [m.worker for m in here.passes(300)] == [0, 2]


def test_what_is_deleted_is_of_that_creation(here: Ground) -> None:
    machines = here.up(resources=L4)
    _delete(here, machines)
    here.passes(300)
    later = here.up(resources=L4)
    assert {m.id for m in later}.isdisjoint(m.id for m in machines)
    here.passes(100)
    _delete(here, machines)
    here.passes(10)
    assert here.runner.look(machines[0].id) is MachineExistence.UNREACHABLE
    here.passes(10)
    assert here.runner.look(machines[0].id) is MachineExistence.GONE
    assert len(here.passes(300)) == 1


def test_a_zone_that_does_not_answer_makes_it_blind(here: Ground) -> None:
    (machine,) = here.up(resources=L4)
    here.fake.faults.silence(ZONE)
    with pytest.raises(RunnerError, match="did not answer; the items there are not known"):
        here.runner.list()
    here.fake.faults.unsilence(ZONE)
    assert len(here.runner.list()) == 1
    here.fake.faults.fail("compute.instances.get", 503, times=99)
    assert here.runner.look(machine.id) is MachineExistence.UNREACHABLE


def test_nobody_is_gone_for_a_listing_that_lags(here: Ground) -> None:
    here.fake.faults.lag_lists(120)
    here.ask(resources=L4)
    assert here.passes(10) == []
    here.ask(resources=L4)
    assert here.creations() == [ZONE]
    (machine,) = here.passes(600)
    assert machine.seen
    assert here.runner.look(machine.id) is MachineExistence.THERE


def test_what_others_have_is_not_ours(here: Ground) -> None:
    here.up(resources=L4)
    other = here.again()
    other = type(other)(context=replace(other.context, scope="another-89abcdef"))
    assert other.list() == ()
    other.create(placement(other, resources=L4))
    assert len(here.rows("instances")) == 2
