"""Who reads whose objects: what is newer is refused by name, never taken for absent, and nothing is written beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import zstandard

from bastion.journal import recover
from bastion.journal.recover import Snapshot, newest_snapshot, pack_snapshot
from bastion.journal.tombstones import Tombstone
from bastion.model import layout
from bastion.model.codec import Record, decode, encode, schema_of
from bastion.model.errors import LeadershipLost, NewerVersion, RecordError
from bastion.model.interfaces import Bucket, MachineExistence
from bastion.model.job.spec import JobSpec, new_jobspec
from bastion.model.layout import job_id
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import JobRejected, RequestRejected
from bastion.model.stored.journal_object import JournalObject
from bastion.model.stored.records import Claim, Facts, Order, Peers, StopOrder
from bastion.model.stored.requests import Hold, Submit, parse
from bastion.model.stored.status import Status
from bastion.model.version import VERSION, is_newer
from bastion.service import loop
from bastion.service.observations import ClaimRead, FactsRead, UnreadableObject
from tests.support.town import ME, Town
from tests.support.world import spec
from tests.support.yard import KEY, Yard, claim

LATER = "99.0.1"
KINDS = (JournalObject, Snapshot, Tombstone, Status, Order, StopOrder, Peers, Claim, Facts, JobSpec)


def raised(data: bytes, **fields: Any) -> bytes:
    """A record as a newer version might write it, which has one more field."""
    told = json.loads(data)
    return json.dumps({**told, "schema": told["schema"] + 1, "unheard_of": 1, **fields}).encode()


def everything(bucket: Bucket) -> dict[str, bytes]:
    return {stat.key: bucket.read(stat.key).data for stat in bucket.list("")}


@pytest.mark.parametrize("kind", KINDS)
def test_a_newer_form_is_refused_by_name_with_the_version_that_wrote_it(kind: type[Record]) -> None:
    known = schema_of(kind)
    assert known is not None
    with pytest.raises(NewerVersion) as told:
        decode(encode({"schema": known + 1, "version": LATER, "unheard_of": 1}), kind, "the thing")
    assert str(told.value) == (
        f"the thing has schema {known + 1}, of Bastion {LATER}; this is Bastion {VERSION}, which reads up to {known}: upgrade"
    )


@pytest.mark.parametrize("version", ["", "\x1b[31m", VERSION, "9" * 5000, "²", 7])
def test_a_writer_that_says_no_later_version_is_not_named(version: Any) -> None:
    with pytest.raises(RecordError, match=r"^the thing (has schema 2, of a newer version of Bastion;|cannot be read)"):
        decode(encode({"schema": 2, "version": version}), Claim, "the thing")


def test_forms_are_numbered_from_1() -> None:
    with pytest.raises(RecordError, match="the claim has schema 0"):
        decode(encode({"schema": 0, "nonce": "n"}), Claim, "the claim")


@pytest.mark.parametrize(
    ("other", "newer"), [("0.1.1", True), ("0.2", True), ("0.1.0", False), ("0.0.9", False), ("1.x", False)]
)
def test_a_version_is_newer_by_its_numbers(other: str, newer: bool) -> None:
    assert is_newer(other) is newer


# Bastions


def aged(town: Town, key: str, **fields: Any) -> dict[str, bytes]:
    """A newer bastion has been at work: it wrote this object. The bucket as it is then."""
    bucket = town.bucket.inner
    bucket.write(key, raised(bucket.read(key).data, version=LATER, **fields))
    return everything(bucket)


@pytest.mark.parametrize("takeover", [False, True])
@pytest.mark.parametrize("what", ["journal", "status"])
def test_an_older_bastion_ends_before_it_has_written_anything(what: str, takeover: bool) -> None:
    town = Town()
    town.ticks(3)
    town.bastion.close()
    key = layout.STATUS if what == "status" else layout.journal(town.bastion.journal.state.seq - 1)
    before = aged(town, key)
    with pytest.raises(
        NewerVersion,
        match=rf"{'status.json' if what == 'status' else 'journal object'}.* of Bastion {LATER}; .*upgrade",
    ):
        loop.run(town.doors(), ME, stopping=lambda: False, takeover=takeover)
    assert everything(town.bucket.inner) == before


def test_an_older_standby_beside_a_newer_bastion_ends_and_leaves_it_alone() -> None:
    town = Town()
    town.bastion.close()
    before = aged(town, layout.STATUS, state="running")
    with pytest.raises(NewerVersion, match="upgrade"):
        loop.stand_by(town.doors(), ME, lambda: False)
    assert everything(town.bucket.inner) == before


def test_an_older_bastion_that_a_newer_one_took_over_from_ends_as_deposed() -> None:
    town = Town()
    town.ticks(2)
    before = aged(town, layout.STATUS, epoch=2)
    with pytest.raises(LeadershipLost, match=f"a newer version of Bastion took over.*{LATER}"):
        town.ticks(20)
    assert everything(town.bucket.inner)[layout.STATUS] == before[layout.STATUS]


def test_a_newer_snapshot_is_passed_over_for_the_journal_it_was_made_of() -> None:
    town = Town()
    job = town.submits()
    town.ticks(3)
    state, bucket = town.bastion.journal.state, town.bucket.inner
    plain = zstandard.decompress(pack_snapshot(state), max_output_size=2**20)
    bucket.create(layout.snapshot(state.seq), zstandard.compress(raised(plain)))
    assert newest_snapshot(bucket) is None
    assert job in recover.load(bucket).jobs


# Workers


def test_a_claim_is_read_whatever_version_wrote_it() -> None:
    yard = Yard()
    yard.turn()
    yard.runner.has("m", KEY)
    yard.claimed()
    key = layout.claim(KEY, 0)
    yard.bucket.inner.write(key, raised(yard.bucket.inner.read(key).data))
    assert yard.turn() == [ClaimRead(KEY, 0, Claim(machine="m", address="a", port=1, nonce="n"))]


def test_newer_facts_of_a_machine_that_is_gone_are_not_taken_for_none() -> None:
    """Or a job that has ended well would be run again."""
    yard = Yard(claim())
    yard.runner.sights["m"] = MachineExistence.GONE
    told = encode(Facts(phase="ended", machine="m", cause=Cause.OK, exit_code=0))
    yard.bucket.inner.write(layout.facts(KEY, 0), raised(told, version=LATER))
    [trouble] = yard.turn()
    assert isinstance(trouble, UnreadableObject)
    assert f"of Bastion {LATER}" in trouble.what
    yard.bucket.inner.write(layout.facts(KEY, 0), told)  # as the bastion reads it that is upgraded
    [seen] = yard.turn()
    assert isinstance(seen, FactsRead)
    assert seen.gone
    assert seen.facts is not None
    assert seen.facts.cause is Cause.OK


# Clients


def test_what_a_spec_leaves_at_the_default_is_not_written() -> None:
    """So a spec that asks for nothing new is read by a bastion that does not know the new fields."""
    plain = new_jobspec(name="a", user="u", project="p", command=["x"], retry_interval_s=60, grace_s=30.0, env={})
    assert json.loads(encode(plain)) == {"schema": 1, "name": "a", "user": "u", "project": "p", "command": ["x"]}


def test_a_job_of_a_newer_client_is_rejected_with_the_advice_and_its_user_sees_it() -> None:
    town = Town()
    wanted = encode(Submit(spec=spec()))
    more = json.loads(wanted)
    more["spec"]["colour"] = "blue"
    request = town.ids.new()
    town.bucket.inner.create(layout.request("alice", request), json.dumps({**more, "version": LATER}).encode())
    town.ticks(2)
    job = town.job(job_id(spec().name, request))
    assert job.state is JobState.REJECTED
    assert job.reason.startswith(
        f"the request is of Bastion {LATER}, and this is Bastion {VERSION}: upgrade ('colour' is not"
    )
    assert town.inbox() == []
    assert any(isinstance(event, JobRejected) for event in town.journal())


@pytest.mark.parametrize("fields", [{"kind": "migrate"}, {"to": "moon"}, {"schema": 2}])
def test_any_other_request_of_a_newer_client_is_answered_too(fields: dict[str, Any]) -> None:
    town = Town()
    data = json.dumps({**json.loads(encode(Hold(job="j"))), "version": LATER, **fields}).encode()
    town.bucket.inner.create(layout.request("alice", town.ids.new()), data)
    town.ticks(2)
    [refused] = [event for event in town.journal() if isinstance(event, RequestRejected | JobRejected)]
    assert "upgrade" in refused.reason
    assert town.inbox() == []


@pytest.mark.parametrize("name", ["", "../up", "x" * 64, 7, None])
def test_a_newer_job_whose_name_is_none_is_shown_as_a_request(name: Any) -> None:
    town = Town()
    data = json.dumps({"schema": 2, "kind": "submit", "spec": {"name": name, "project": "p"}}).encode()
    town.bucket.inner.create(layout.request("alice", town.ids.new()), data)
    town.ticks(2)
    [refused] = [event for event in town.journal() if isinstance(event, JobRejected)]
    assert "upgrade" in refused.reason
    assert [job.name for job in town.bastion.journal.state.jobs.values()] == ["request"]


def test_what_is_wrong_with_a_request_of_our_own_version_is_its_own_fault() -> None:
    with pytest.raises(RecordError) as told:
        parse(encode({"schema": 1, "version": VERSION, "kind": "migrate"}))
    assert "upgrade" not in str(told.value)
