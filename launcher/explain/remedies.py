"""Remedies: smallest changes after which the real decision starts a pending job. Pure.

This module knows no rules of the policy. It changes a copy of the decision's inputs, takes the decision, and reports
what it does for the job. Shares and free resources only tell where to look first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .smallest import Amounts, least
from .what_if_decision import DecisionEffect, DecisionLimitReached, WhatIfDecisions
from .what_if_state import WhatIfCase


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A change that was tried with success, and what the decision then does for the job.

    what: one word for scripts.
    text: the change, for people.
    how: command that makes it; empty: there is none.
    change: values of the change, for scripts.
    effect: what the decision does for the job.
    at: when it does so.
    """

    what: str
    text: str
    how: str
    change: Mapping[str, Any] = field(default_factory=dict)
    effect: DecisionEffect
    at: datetime


Told = tuple[str, str, Mapping[str, Any]]  # text, how and change of a remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountChange:
    """A kind of change with variable amounts. Amounts of 0 change nothing.

    what: one word for scripts.
    guess: amounts to try first.
    top: largest amounts to try.
    made: function that applies amounts to a case.
    told: function that describes amounts: in words, as a command, and as values.
    later: also try it at the time when the job has waited long enough, as its effect needs a wait.
    instead: try it only if no remedy of the same `what` was found.
    """

    what: str
    guess: Amounts
    top: Amounts
    made: Callable[[WhatIfCase, Amounts], WhatIfCase]
    told: Callable[[Amounts], Told]
    later: bool = False
    instead: bool = False


def remedies(
    case: WhatIfCase, waited: datetime, levers: Iterable[AmountChange], decisions: WhatIfDecisions
) -> tuple[Remedy, ...]:
    """Return the remedies that were found, in the order of the levers. Stops when the decisions are spent.

    `waited` is when the job will have waited long enough for others to be stopped for it.
    """
    found: list[Remedy] = []
    try:
        if waited > case.now and (effect := decisions.effect(case.at(waited))):
            found.append(Remedy(what="time", text="time alone", how="", effect=effect, at=waited))
        moments = [case.now, waited] if waited > case.now and not found else [case.now]
        for lever in levers:
            if not (lever.instead and any(remedy.what == lever.what for remedy in found)):
                found += _first(case, lever, moments if lever.later else moments[:1], decisions)
    except DecisionLimitReached:
        pass
    return tuple(found)


def _first(
    case: WhatIfCase, lever: AmountChange, moments: Iterable[datetime], decisions: WhatIfDecisions
) -> Iterator[Remedy]:
    """Yield the remedy of the lever at the first time when it has an effect."""
    for at in moments:
        if remedy := _tried(case.at(at), lever, decisions):
            yield remedy
            return


def _tried(case: WhatIfCase, lever: AmountChange, decisions: WhatIfDecisions) -> Remedy | None:
    effects: dict[tuple[int, ...], DecisionEffect] = {}

    def works(amounts: Amounts) -> bool:
        effect = decisions.effect(lever.made(case, amounts))
        effects[tuple(amounts.values())] = effect
        return bool(effect)

    amounts = least(lever.guess, lever.top, works)
    if amounts is None:
        return None
    text, how, change = lever.told(amounts)
    effect = effects[tuple(amounts.values())]
    return Remedy(what=lever.what, text=text, how=how, change=change, effect=effect, at=case.now)
