"""Prove that a store keeps every promise of a bucket. The tests of our own stores use it, and users for theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ...model.errors import BastionError
from ...model.interfaces import Bucket
from . import promises, races
from .bench import BrokenPromise, Check, CheckScale, TestStore

FULL = CheckScale(rewrites=100, many=3000, big=64 << 20, rounds=5, racers=32, swaps=10, turns=20)
"""The scale for tests of a store that ships with Bastion."""

HANDY = CheckScale(rewrites=20, many=1100, big=8 << 20, rounds=5, racers=32, swaps=5, turns=8)
"""The scale for a user's own store, over a network: about three thousand requests, and 40 MiB."""

QUICK = CheckScale(rewrites=3, many=0, big=0, rounds=3, racers=16, swaps=2, turns=0)
"""The scale for a store that a bastion is about to use: about a hundred small requests."""

LEADERSHIP: tuple[Check, ...] = (
    promises.create_refuses_a_taken_key,
    races.of_racing_creators_one_wins,
    promises.replace_wants_the_version_that_is_there,
    promises.replace_refuses_a_deleted_object,
    races.racing_swaps_lose_nothing,
)
"""The checks that a bastion's safety rests on: a store that fails one of these must not hold a bastion."""

EXCLUSIVE = LEADERSHIP[:2]
"""The checks that logs and bundles need, in a store that holds nothing else."""

_OTHERS: tuple[Check, ...] = (
    promises.created_is_read_back,
    promises.others_see_it_at_once,
    promises.replace_refuses_versions_that_never_were,
    promises.write_overwrites,
    promises.each_write_has_a_new_version,
    promises.each_create_has_a_new_version,
    promises.missing_is_an_answer,
    promises.delete_minds_nothing_else,
    promises.a_listing_is_in_order,
    promises.prefix_and_after_give_the_keys_between,
    promises.an_empty_bucket_lists_nothing,
    promises.an_object_and_a_folder_may_share_a_name,
    promises.odd_keys_work,
    promises.bad_keys_are_refused,
    promises.one_bad_key_deletes_nothing,
    promises.no_bytes_are_an_object,
    promises.a_read_minds_its_limit,
    promises.a_big_object_comes_back_whole,
    promises.many_objects_are_listed_over_pages,
    races.readers_see_whole_objects,
    races.neighbours_do_not_disturb_each_other,
)
CHECKS = (*LEADERSHIP, *_OTHERS)

UNSAFE = "do not keep a bastion in this store: two of them could lead at the same time"
UNFIT = "do not use this store, or report this to the makers of its client"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check.

    name: name of the check.
    promise: the promise, in one sentence.
    problem: what went wrong; "": the promise is kept.
    advice: what to do about the problem.
    broken: the store gave a wrong answer, and did not just fail to answer.
    """

    name: str
    promise: str
    problem: str = ""
    advice: str = ""
    broken: bool = False


def prove(
    opening: Callable[[], Bucket], checks: Iterable[Check] = CHECKS, scale: CheckScale = HANDY
) -> Iterator[CheckResult]:
    """Run the checks one after the other, and yield what each finds.

    `opening` opens an empty place, which is empty again after each check.
    """
    for check in checks:
        opened: list[Bucket] = []

        def again(opened: list[Bucket] = opened) -> Bucket:
            opened.append(opening())
            return opened[-1]

        try:
            finding = _found(check, TestStore(again, scale))
            yield finding
        finally:
            _leave(opening, opened)


def name_of(check: Check) -> str:
    """Return the name of a check, as people read it."""
    return check.__name__.replace("_", " ")


def _found(check: Check, stage: TestStore) -> CheckResult:
    promise = (check.__doc__ or "").split("\n", 1)[0]
    try:
        check(stage)
    except BrokenPromise as broken:
        advice = UNSAFE if check in LEADERSHIP else UNFIT
        return CheckResult(name=name_of(check), promise=promise, problem=str(broken), advice=advice, broken=True)
    except BastionError as error:
        return CheckResult(
            name=name_of(check), promise=promise, problem=str(error), advice="remove the cause and try again"
        )
    return CheckResult(name=name_of(check), promise=promise)


def _leave(opening: Callable[[], Bucket], opened: Iterable[Bucket]) -> None:
    """Remove what a check left, and close what it opened."""
    bucket = opening()
    bucket.delete([stat.key for stat in bucket.list("")])
    for one in (bucket, *opened):
        close = getattr(one, "close", None)
        if close:
            close()
