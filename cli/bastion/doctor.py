"""`bastion doctor`: find out whether all is well, and what to do if not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bastion.launcher.access.health_checks import Check, HealthLevel
from bastion.model.version import VERSION
from bastion.platform.system import RandomIds, SystemClock, ThreadTasks

from ..common.command_context import user_of
from ..common.place import known_place_of
from ..options.bastion import DoctorOptions
from ..terminal.main import DONE, FAILED, Call
from ..terminal.table import plain
from .parts import doctor_store, doctor_verify
from .parts.doctor_checks import Examination


def run(call: Call[DoctorOptions]) -> int:
    """Return 0 only when all is well."""
    if call.options.store:
        return doctor_store.run(call, call.options.store)
    place = known_place_of(call)
    if call.options.verify:
        return doctor_verify.run(call, place)
    look = Examination(place, user_of(call), SystemClock(), RandomIds(), ThreadTasks())
    with call.output.progress(f"examining bastion {place.name}"):
        checks = look.examine(VERSION)
    tell(call, checks, {"name": place.name, "bucket": place.root.url})
    return DONE if is_well(checks) else FAILED


def is_well(checks: Sequence[Check]) -> bool:
    """Return True if there is nothing to do."""
    return all(check.level is HealthLevel.OK for check in checks)


def tell(call: Call[DoctorOptions], checks: Sequence[Check], about: dict[str, Any]) -> None:
    """Print one line for each check, and a second one where there is something to do."""
    if call.output.json:
        rows = [{"level": c.level, "check": c.name, "found": c.found, "advice": c.advice} for c in checks]
        call.output.data({"schema": 1, **about, "well": is_well(checks), "checks": rows})
        return
    for check in checks:
        call.output.say("\n".join(lines(check)))
    wrong = sum(check.level is not HealthLevel.OK for check in checks)
    call.output.say("all is well" if not wrong else f"{wrong} of {len(checks)} checks found a problem")


def lines(check: Check) -> list[str]:
    """Return the lines for people."""
    told = [plain(f"{check.level:<8} {check.name}: {check.found}")]
    return told if check.level is HealthLevel.OK else [*told, f"{'':<8} -> {plain(check.advice)}"]
