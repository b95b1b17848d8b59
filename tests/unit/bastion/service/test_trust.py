"""What counts of a listing, a claim and facts that anybody could have written: only what the journal or the seal bears out."""

from __future__ import annotations

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import LeadershipLost, RunnerError
from bastion.model.interfaces import AttemptKey, MachineExistence
from bastion.model.stored.records import Claim, Facts
from bastion.platform.system import RandomIds
from bastion.service.observations import ClaimRead, FactsRead, Sighting, Stray, UnreadableObject
from bastion.service.reconcile import STRAY_S
from bastion.stores.machine_seal import KeyedSeal, key_in
from bastion.testing.fleets import sealing
from tests.support.doors import FaultyBucket, fails
from tests.support.yard import KEY, Yard, claim, stop

OTHER = AttemptKey("x", 0, 0)


def strays(seen: list[Sighting]) -> list[str]:
    return [one.what for one in seen if isinstance(one, Stray)]


def test_a_listing_deposes_nobody_and_is_held_against_the_status_once() -> None:
    yard = Yard()
    yard.runner.has("m", OTHER, epoch=999, ours=False)
    for _ in range(100):
        [told] = strays(yard.turn())
        assert "thing m of eve has the name of worker 0 of x/0/0, but this bastion did not create it" in told
        yard.clock.now += 5
    assert yard.looks == 1
    assert yard.deletes() == []


def test_where_the_status_bears_it_out_the_bastion_is_deposed_before_anything_is_done() -> None:
    yard = Yard()
    yard.runner.has("m", OTHER, epoch=4)
    yard.deposed = True
    with pytest.raises(LeadershipLost, match="epoch 4"):
        yard.turns.turn()
    assert yard.runner.calls == []
    assert yard.bucket.calls == []


def test_a_store_that_cannot_tell_is_asked_again_but_not_in_each_turn() -> None:
    yard = Yard()
    yard.runner.has("m", OTHER, epoch=4)
    yard.answers = False
    for _ in range(61):
        yard.turn()
        yard.clock.now += 1
    assert yard.looks == 3
    yard.answers = True
    yard.clock.now += STRAY_S
    yard.turn()
    yard.turn()
    assert yard.looks == 4


def test_ten_new_names_in_each_turn_cost_one_look_in_half_a_minute() -> None:
    yard = Yard()
    for turn in range(30):
        for number in range(10):
            yard.runner.has(f"m{turn}.{number}", OTHER, epoch=999 + turn, ours=False)
        yard.turn()
        yard.clock.now += 1
    assert yard.looks == 1


def test_a_proved_one_of_an_epoch_that_never_was_is_named_and_ended_after_a_while() -> None:
    yard = Yard()
    yard.runner.has("m", OTHER, epoch=4)
    [told] = strays(yard.turn())
    assert "and epoch 4, which neither status.json nor the journal has" in told
    assert yard.deletes() == []
    yard.clock.now += STRAY_S
    yard.turn()
    assert yard.deletes() == ["m"]


def test_what_is_not_proved_is_in_nobodys_place_and_ended_by_nobody() -> None:
    yard = Yard()
    yard.runner.has("spoof", KEY, ours=False)
    yard.clock.now += 2 * STRAY_S
    yard.turn()
    assert ("create", KEY) in yard.runner.calls
    yard.runner.has("m", KEY)
    yard.claimed("m")
    yard.takes_in(yard.turn())
    assert len(strays(yard.turn())) == 1
    assert yard.deletes() == []


def test_what_has_claimed_is_known_by_the_journal_without_a_proof() -> None:
    yard = Yard(claim("old"))
    yard.runner.has("old", KEY, ours=False)
    assert strays(yard.turn()) == []
    yard.folds(stop())
    yard.turn()
    assert ("stop", "old") in yard.runner.calls


def test_a_claim_that_names_a_machine_of_another_is_refused_in_each_turn() -> None:
    yard = Yard()
    yard.runner.others = {"theirs"}
    yard.runner.has("m", KEY)
    yard.claimed("theirs")
    for _ in range(3):
        [trouble] = yard.turn()
        assert isinstance(trouble, UnreadableObject)
        assert f"{layout.claim(KEY, 0)} cannot be used: it names 'theirs'" in trouble.what
        assert "replace it by" in trouble.what
    yard.folds(stop())
    assert [type(seen) for seen in yard.turn()] == [UnreadableObject]
    assert yard.deletes() == []


def test_beside_such_a_claim_the_workers_own_facts_tell_and_anothers_do_not() -> None:
    yard = Yard()
    yard.runner.others = {"theirs"}
    yard.runner.has("m", KEY)
    yard.claimed("theirs")
    yard.bucket.inner.write(layout.facts(KEY, 0), encode(Facts(phase="running", machine="theirs")))
    assert [type(seen) for seen in yard.turn()] == [UnreadableObject]
    yard.bucket.inner.write(layout.facts(KEY, 0), encode(Facts(phase="running", machine="m")))
    assert yard.turn() == [ClaimRead(KEY, 0, Claim(machine="m", nonce=""))]


def test_the_last_facts_of_a_machine_are_its_own() -> None:
    yard = Yard(claim())
    yard.runner.sights["m"] = MachineExistence.GONE
    yard.bucket.inner.write(layout.facts(KEY, 0), encode(Facts(phase="ended", machine="theirs")))
    assert yard.turn() == [FactsRead(KEY, 0, None, gone=True)]


def test_anothers_machine_that_an_older_version_took_in_is_neither_asked_about_nor_ended() -> None:
    yard = Yard(claim("theirs"), stop())
    yard.runner.others = {"theirs"}
    yard.runner.has("m", KEY)
    assert yard.turn() == []
    assert yard.deletes() == ["m"]  # a twin of what is said to have claimed
    yard.runner.loses("m")
    assert yard.turn() == [FactsRead(KEY, 0, None, gone=True)]
    assert yard.runner.calls == []


def test_a_seal_knows_its_own_nonces_for_what_they_were_made_and_no_others() -> None:
    bucket = FaultyBucket()
    one, again = (KeyedSeal(lambda: key_in(bucket, RandomIds()), RandomIds()) for _ in range(2))
    nonce = one.nonce("scope", KEY, 3)
    assert len(nonce) == 32
    assert nonce != one.nonce("scope", KEY, 3)
    assert again.proves(nonce, "scope", KEY, 3)
    for other in (("other", KEY, 3), ("scope", OTHER, 3), ("scope", KEY, 4)):
        assert not again.proves(nonce, *other)
    for forged in ("", "0" * 32, "dead", nonce[:-1], f"{nonce[:-1]}\u0130", RandomIds().new()):
        assert not again.proves(forged, "scope", KEY, 3)
    assert not sealing().proves(nonce, "scope", KEY, 3)
    assert [verb for verb, _ in bucket.calls] == ["read", "create", "read"]


@pytest.mark.parametrize("damage", [b"", b"x" * 64, b"0" * 63, b"0" * 2000])
def test_a_key_that_cannot_be_had_is_a_runner_that_cannot_be_asked(damage: bytes) -> None:
    bucket = FaultyBucket(faults=[fails])
    seal = KeyedSeal(lambda: key_in(bucket, RandomIds()), RandomIds())
    with pytest.raises(RunnerError, match=r"seal\.key cannot be read"):
        seal.nonce("x")
    bucket.inner.write(layout.SEAL, damage)
    with pytest.raises(RunnerError, match=r"seal\.key is damaged: remove it"):
        seal.proves("x")
    bucket.inner.delete([layout.SEAL])
    assert seal.proves(seal.nonce("x"), "x")
