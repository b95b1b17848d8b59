"""Who counts as lost: three missed beats, three good listings, and never most of the fleet at once."""

from __future__ import annotations

from bastion.beats import BEATS_MISSED, MANY, Watch, WorkerKey
from bastion.ports import AttemptKey
from bastion.records import BEAT_S

LOST_S = BEATS_MISSED * BEAT_S


def workers(number: int) -> list[WorkerKey]:
    return [(AttemptKey("j", 0, 0), worker) for worker in range(number)]


def lost(watch: Watch, live: list[WorkerKey], beats: dict[WorkerKey, str], at: float) -> list[int]:
    return [silent.worker for silent in watch.judge(live, beats, at)]


def test_a_worker_whose_beat_stands_still_is_lost_after_three_beats() -> None:
    watch, live = Watch(), workers(1)
    beats = dict.fromkeys(live, "1")
    for at in (0.0, BEAT_S, 2 * BEAT_S, LOST_S):
        assert lost(watch, live, beats, at) == []
    [silent] = watch.judge(live, beats, LOST_S + 1)
    assert (silent.key, silent.worker, silent.seconds) == (live[0][0], 0, LOST_S + 1)


def test_a_beat_that_moves_is_life() -> None:
    watch, live = Watch(), workers(1)
    for number in range(20):
        assert lost(watch, live, dict.fromkeys(live, str(number // 2)), number * BEAT_S) == []


def test_a_worker_that_never_beat_is_lost_too() -> None:
    watch, live = Watch(), workers(1)
    assert [lost(watch, live, {}, at) for at in (0.0, 20.0, LOST_S + 1)] == [[], [], [0]]


def test_an_observer_that_slept_needs_three_listings() -> None:
    watch, live = Watch(), workers(1)
    beats = dict.fromkeys(live, "1")
    assert lost(watch, live, beats, 0.0) == []
    assert lost(watch, live, beats, 9_999.0) == []
    assert lost(watch, live, beats, 9_999.1) == [0]


def test_silence_of_most_at_once_freezes_all_verdicts() -> None:
    watch, live = Watch(), workers(MANY + 1)
    beats = dict.fromkeys(live, "1")
    for at in (0.0, BEAT_S, LOST_S, LOST_S + 1, 10 * LOST_S):
        beats[live[-1]] = str(at)
        assert lost(watch, live, beats, at) == []
    for key in live[:-2]:
        beats[key] = "back"
    assert lost(watch, live, beats, 10 * LOST_S + 1) == [len(live) - 2]


def test_silence_of_few_or_of_the_lesser_part_is_loss() -> None:
    for number, silent in ((MANY - 1, MANY - 1), (2 * MANY, MANY)):
        watch, live = Watch(), workers(number)
        verdicts = []
        for at in (0.0, BEAT_S, LOST_S + 1):
            beats = {key: "1" if key[1] < silent else str(at) for key in live}
            verdicts.append(lost(watch, live, beats, at))
        assert verdicts == [[], [], list(range(silent))]


def test_who_is_no_longer_live_is_forgotten() -> None:
    watch, live = Watch(), workers(1)
    beats = dict.fromkeys(live, "1")
    for at in (0.0, BEAT_S, 2 * BEAT_S):
        lost(watch, live, beats, at)
    lost(watch, [], beats, LOST_S)
    assert lost(watch, live, beats, LOST_S + 1) == [], "a new watch begins"
