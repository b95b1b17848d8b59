"""What would start a job that waits: changes, each as small as it can be, after which the real decision starts it. Pure.

Nothing here knows the rules. A change is made to a copy of what the decision rests on, the decision is taken, and what
it does for the job is what is told. What is known of shares and of what is free only says where to look first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .smallest import Amounts, least
from .what_if_decision import Effect, Spent, WhatIfDecisions
from .what_if_state import WhatIfCase


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A change that was tried, and what the decision then does for the job.

    `what` is one word for scripts, `change` its values, `text` the same for people, `how` the command, if there is one.
    `at` is when it has this effect.
    """

    what: str
    text: str
    how: str
    change: Mapping[str, Any] = field(default_factory=dict)
    effect: Effect
    at: datetime


Told = tuple[str, str, Mapping[str, Any]]  # text, how, change


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """A way to change a case, by amounts that are 0 as it is and at most `top`. `guess` is where to look first.

    `made` changes the case, `told` says amounts in words, as a command, and as values. What takes its effect only after a time of
    waiting is tried `later`, too; what is `instead` only if nothing of the same sort was found.
    """

    what: str
    guess: Amounts
    top: Amounts
    made: Callable[[WhatIfCase, Amounts], WhatIfCase]
    told: Callable[[Amounts], Told]
    later: bool = False
    instead: bool = False


def remedies(
    case: WhatIfCase, waited: datetime, levers: Iterable[Lever], decisions: WhatIfDecisions
) -> tuple[Remedy, ...]:
    """What was found, in the order of the levers. What cannot be settled in so many decisions is left out.

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
    except Spent:
        pass
    return tuple(found)


def _first(case: WhatIfCase, lever: Lever, moments: Iterable[datetime], decisions: WhatIfDecisions) -> Iterator[Remedy]:
    """What the lever does at the first moment at which it does anything."""
    for at in moments:
        if remedy := _tried(case.at(at), lever, decisions):
            yield remedy
            return


def _tried(case: WhatIfCase, lever: Lever, decisions: WhatIfDecisions) -> Remedy | None:
    effects: dict[tuple[int, ...], Effect] = {}

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
