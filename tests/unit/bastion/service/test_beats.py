"""Who counts as lost: three missed beats, three good listings, and never most of the fleet at once."""

from __future__ import annotations

from bastion.model.interfaces import AttemptKey
from bastion.model.stored.records import BEAT_S
from bastion.service.liveness import BEATS_MISSED, DOUBT_MAX_S, FROZEN_MAX_S, MANY, Liveness, WorkerKey

LOST_S = BEATS_MISSED * BEAT_S


def workers(number: int) -> list[WorkerKey]:
    return [(AttemptKey("j", 0, 0), worker) for worker in range(number)]


def lost(watch: Liveness, live: list[WorkerKey], beats: dict[WorkerKey, str], at: float) -> list[int]:
    return [silent.worker for silent in watch.judge(live, beats, at)]


def test_a_worker_whose_beat_stands_still_is_lost_after_three_beats() -> None:
    watch, live = Liveness(), workers(1)
    beats = dict.fromkeys(live, "1")
    for at in (0.0, BEAT_S, 2 * BEAT_S, LOST_S):
        assert lost(watch, live, beats, at) == []
    [silent] = watch.judge(live, beats, LOST_S + 1)
    assert (silent.key, silent.worker, silent.seconds) == (live[0][0], 0, LOST_S + 1)


def test_a_beat_that_moves_is_life() -> None:
    watch, live = Liveness(), workers(1)
    for number in range(20):
        assert lost(watch, live, dict.fromkeys(live, str(number // 2)), number * BEAT_S) == []


def test_a_worker_that_never_beat_is_lost_too() -> None:
    watch, live = Liveness(), workers(1)
    assert [lost(watch, live, {}, at) for at in (0.0, 20.0, LOST_S + 1)] == [[], [], [0]]


def test_an_observer_that_slept_listens_anew_and_is_patient_for_as_long_again() -> None:
    watch, live = Liveness(), workers(1)
    beats = dict.fromkeys(live, "1")
    assert lost(watch, live, beats, 0.0) == []
    assert [lost(watch, live, beats, 100 + n * BEAT_S) for n in range(7)] == [[]] * 7
    assert lost(watch, live, beats, 201) == [0]


def test_a_doubt_lasts_five_minutes_at_the_most_and_ends_with_a_beat() -> None:
    watch, live = Liveness(), workers(2)
    beats = dict.fromkeys(live, "1")
    watch.doubt(3600.0)
    verdicts = {}
    for number in range(30):
        beats[live[0]] = "1" if number < 2 else "2"
        verdicts[number * BEAT_S] = lost(watch, live, beats, number * BEAT_S)
    assert next(at for at, who in verdicts.items() if 0 in who) == 2 * BEAT_S + LOST_S + BEAT_S
    assert next(at for at, who in verdicts.items() if 1 in who) == DOUBT_MAX_S + BEAT_S


def test_silence_of_most_at_once_freezes_all_verdicts() -> None:
    watch, live = Liveness(), workers(MANY + 1)
    beats = dict.fromkeys(live, "1")
    for number in range(20):
        beats[live[-1]] = str(number)
        assert lost(watch, live, beats, number * BEAT_S) == []
    for key in live[:-2]:
        beats[key] = "back"
    since = 20 * BEAT_S
    verdicts = {}
    for number in range(20, 60):
        beats |= {key: str(number) for key in live if key != live[-2]}
        verdicts[number * BEAT_S] = lost(watch, live, beats, number * BEAT_S)
    assert next(at for at, who in verdicts.items() if who) == since + DOUBT_MAX_S + BEAT_S, (
        "as patient as after a doubt"
    )
    assert verdicts[since + DOUBT_MAX_S + BEAT_S] == [len(live) - 2]


def test_a_freeze_ends_after_an_hour_for_those_who_were_silent_all_along() -> None:
    watch, live = Liveness(), workers(MANY + 1)
    beats = dict.fromkeys(live, "1")
    late = live[0]
    verdicts = {}
    for number in range(int(FROZEN_MAX_S / BEAT_S) + 20):
        at = number * BEAT_S
        beats[late] = "2" if at >= 10 * BEAT_S else "1"
        verdicts[at] = lost(watch, live, beats, at)
    assert next(at for at, who in verdicts.items() if who) == FROZEN_MAX_S + BEAT_S
    assert verdicts[FROZEN_MAX_S + BEAT_S] == [1, 2, 3, 4]
    assert verdicts[FROZEN_MAX_S + 10 * BEAT_S] == [1, 2, 3, 4]
    assert verdicts[FROZEN_MAX_S + 11 * BEAT_S] == [0, 1, 2, 3, 4]


def test_an_hour_in_which_we_were_in_doubt_ourselves_is_none() -> None:
    watch, live = Liveness(), workers(MANY)
    beats = dict.fromkeys(live, "1")
    for number in range(int(FROZEN_MAX_S / BEAT_S) + 20):
        if number == 100:
            watch.doubt(LOST_S)
        assert lost(watch, live, beats, number * BEAT_S) == []


def test_silence_of_few_or_of_the_lesser_part_is_loss() -> None:
    for number, silent in ((MANY - 1, MANY - 1), (2 * MANY, MANY)):
        watch, live = Liveness(), workers(number)
        verdicts = []
        for at in (0.0, BEAT_S, LOST_S + 1):
            beats = {key: "1" if key[1] < silent else str(at) for key in live}
            verdicts.append(lost(watch, live, beats, at))
        assert verdicts == [[], [], list(range(silent))]


def test_who_is_no_longer_live_is_forgotten() -> None:
    watch, live = Liveness(), workers(1)
    beats = dict.fromkeys(live, "1")
    for at in (0.0, BEAT_S, 2 * BEAT_S):
        lost(watch, live, beats, at)
    lost(watch, [], beats, LOST_S)
    assert lost(watch, live, beats, LOST_S + 1) == [], "a new watch begins"
