"""`bastion create`: store the settings in the bucket, and start the loop in the background."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from bastion.launcher.submit.build import amounts
from bastion.model.clocks import wrong
from bastion.model.errors import BastionError, ObjectNotFound, UsageError
from bastion.model.interfaces import Bucket
from bastion.model.job.audit_line import sign
from bastion.model.layout import CONFIG
from bastion.model.settings import config
from bastion.model.settings.config import BUCKETS, Config
from bastion.platform import host
from bastion.platform.local_paths import log_file
from bastion.platform.store_clock import StoreClock
from bastion.platform.system import RandomIds, SystemClock
from bastion.quota.resources import text
from bastion.stores.opening import open_bucket

from ..common import shared_host
from ..common.bastion_alive import is_up
from ..common.command_context import user_of
from ..common.compare_and_swap import exchange
from ..common.place import BastionPlace, place_of, profiles_path, setting_of
from ..hosting import where
from ..options.bastion import CreateOptions, LoopOptions
from ..terminal.main import DONE, Call
from . import unit as bastion_unit
from .parts.background import come_up
from .parts.config_file import changed
from .parts.first_time import ChosenDefaults, check_engine, completed, engine_settings, keep, keep_for_all
from .parts.store_check import admit
from .unit import Unit

SETTINGS = ("poll", "reclaim_delay", "policy", "run_as", "shared")


def run(call: Call[CreateOptions]) -> int:
    """Return 0 when the bastion ticks with these settings stored."""
    call, chosen = completed(named(call))
    if where.chosen(call):
        return _elsewhere(call, place_of(call))
    place = _shared_place(call, call.options.shared) if call.options.shared else place_of(call, create=True)
    if not call.options.local and where.hosting(place):
        return _elsewhere(call, place)
    unit = _unit(call, place)
    clock, old = SystemClock(), _before(place.bucket)
    said = given(call.options) | engine_settings(call, old.runner_options if old else {})
    with call.output.progress(f"proving the stores of bastion {place.name}"):
        place, said = prove(place, said)
    check_engine(call, place)
    changed = store(place.bucket, said, user_of(call), clock.wall())
    was_up = is_up(place, clock)
    if unit or not was_up:
        with call.output.progress(f"starting bastion {place.name}"):
            bastion_unit.install(place, unit, clock) if unit else come_up(place, call.environ, clock)
    if changed:
        later = (
            "; changes to buckets, capacity, run_as and shared take effect after a restart of the bastion"
            if was_up
            else ""
        )
        later += "; objects in the old buckets stay there: copy them" if "buckets" in said else ""
        call.output.note(f"settings stored: {', '.join(changed)}{later}")
    _tell(call, place, already=was_up)
    if unit:
        call.output.note(f"systemd keeps it running: {unit.file}; its output: journalctl --unit={unit.name}")
    elif not was_up and not call.output.json:
        call.output.note(f"its output: {log_file(place.name, place.bucket.url, call.environ)}")
    if place.settings.shared:
        call.output.note(keep_for_all(call, place))
    elif chosen != ChosenDefaults():
        for line in (*chosen.lines(), *_fleet(place), *keep(call, place, chosen)):
            call.output.note(line)
    else:
        _advise(call, place)
    return DONE


def _unit(call: Call[CreateOptions], place: BastionPlace) -> Unit | None:
    """Return the unit for --systemd; None without the flag. Raises `UsageError` if it is not possible."""
    if not call.options.systemd:
        return None
    unit = bastion_unit.unit(place, call.environ)
    bastion_unit.check(place, unit, is_up=is_up(place, SystemClock()))
    return unit


def _shared_place(call: Call[CreateOptions], group: str) -> BastionPlace:
    """Return a folder that the accounts of this machine share. Raises `UsageError` if it is not possible."""
    if not call.options.local:
        raise UsageError("--shared needs --local: the accounts of this machine share it as the fleet")
    os.umask(0o022)
    bucket = setting_of(call, "bucket")
    shared_host.check(group, bucket.value if bucket else "")
    shared_host.share(place_of(call, create=True), group)
    return place_of(call)


def _fleet(place: BastionPlace) -> list[str]:
    """Return a line with the capacity that the bastion gives away; nothing if it reports none."""
    status = place.status()
    return [f"jobs may use {text(status.capacity)}"] if status and status.capacity else []


def _elsewhere(call: Call[CreateOptions], place: BastionPlace) -> int:
    """Create a bastion on a VM or in a cluster. Return 0 when it ticks there.

    With --dry_run, print every step instead. With --terraform, write the steps down instead.
    """
    if call.options.systemd:
        raise UsageError("--systemd is for a bastion on this machine; leave it out")
    clock, way = SystemClock(), where.way(call, place)
    said = given(call.options) | way.settings(call, place)
    after = msgspec.structs.replace(_before(place.bucket) or _for_admin(user_of(call)), **said)
    if wrong := config.check(after):
        raise UsageError("; ".join(wrong))
    site = way.site(call, place, after)
    if site.note:
        call.output.note(site.note)
    if call.options.dry_run:
        for one in site.work(call.output.say):
            one.ensure()
        return DONE
    with call.output.progress(f"proving the stores of bastion {place.name}"):
        place, said = prove(place, said)
    changed = store(place.bucket, said, user_of(call), clock.wall())
    if call.options.terraform and site.write:
        site.write(call.options.terraform)
        return DONE
    new = where.bring_up(call, place, site, clock)
    if changed:
        call.output.note(f"settings stored: {', '.join(changed)}")
    _tell(call, place, already=not new)
    _advise(call, place)
    return DONE


def named(call: Call[CreateOptions]) -> Call[CreateOptions]:
    """Return the call with --name in place of --bastion. Raises `UsageError` if both are set and differ."""
    name, bastion = call.options.name, call.options.bastion
    if name and bastion and name != bastion:
        raise UsageError(f"--name={name} and --bastion={bastion} name two bastions; leave one out")
    return dataclasses.replace(call, options=call.options.but(bastion=name or bastion))


def given(options: LoopOptions) -> dict[str, Any]:
    """Return the settings of the command line, by the names in `config.toml`. Raises `UsageError`."""
    values = options.values
    said: dict[str, Any] = {name: values[name] for name in SETTINGS if values.get(name) is not None}
    if values.get("local"):
        said["runners"] = ["local"]
    if options.capacity is not None:
        said["capacity"] = amounts([options.capacity], "--capacity")
    if buckets := {home: values[f"{home}_bucket"] for home in BUCKETS if values.get(f"{home}_bucket")}:
        said["buckets"] = {home: open_bucket(url, create=True).url for home, url in buckets.items()}
    wrong = config.check(msgspec.structs.replace(Config(), **said))
    if wrong:
        raise UsageError(f"--{'; --'.join(wrong)}")
    return said


def prove(place: BastionPlace, said: dict[str, Any]) -> tuple[BastionPlace, dict[str, Any]]:
    """Check the stores that are new to the bastion. Return the place with these settings, and the settings.

    A bucket that is not named stays as it is. Raises `BastionError` if a store is unfit or the clock is wrong.
    """
    old = _before(place.bucket)
    if old and "buckets" in said:
        said = said | {"buckets": {**old.buckets, **said["buckets"]}}
    new = msgspec.structs.replace(old or Config(), **said)
    admit(place.root, new, RandomIds(), old=old)
    asked = StoreClock(place.bucket, SystemClock(), host.name(), os.getpid()).ask()
    if problem := wrong(asked.off_s):
        raise BastionError(f"{problem}; nothing was stored")
    return place.housed(new), said


def store(bucket: Bucket, said: dict[str, Any], user: str, now: datetime) -> list[str]:
    """Write the settings into the bucket's `config.toml`, and return the changes as text. Everything else in it stays.

    The user who stores the first settings is the first admin.
    """
    try:
        stored = bucket.read(CONFIG)
    except ObjectNotFound:
        first = msgspec.structs.replace(_for_admin(user), **said)
        exchange(bucket, CONFIG, sign(config.render(first), user, now).encode(), None)
        return []
    before = config.parse(stored.data)
    after = msgspec.structs.replace(before, **said)
    if after != before:
        text = changed(stored.data.decode(), dict(_by_key(before, said)))
        exchange(bucket, CONFIG, sign(text, user, now).encode(), stored.version)
    return [f"{key} = {value}" for key, value in said.items() if getattr(before, key) != value]


def _before(bucket: Bucket) -> Config | None:
    try:
        return config.parse(bucket.read(CONFIG).data)
    except ObjectNotFound:
        return None


def _by_key(before: Config, said: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return the settings by the names in the file. Of a table with fixed keys, only the keys that differ."""
    for key, value in said.items():
        if not isinstance(value, msgspec.Struct):
            yield key, value
            continue
        old, new = msgspec.to_builtins(getattr(before, key)), msgspec.to_builtins(value)
        yield from ((f"{key}.{name}", new[name]) for name in new if new[name] != old[name])


def _for_admin(user: str) -> Config:
    """Return the defaults with this admin, or without an admin if the name cannot be a folder of the inbox."""
    mine = Config(admins=[user])
    return Config() if config.check(mine) else mine


def _tell(call: Call[CreateOptions], place: BastionPlace, *, already: bool) -> None:
    status = place.status()
    if status is None:
        raise BastionError(
            f"bastion {place.name} started, but {place.bucket.url}/status.json was removed; see bastion logs"
        )
    if call.output.json:
        call.output.data({"name": place.name, "bucket": place.root.url, "pid": status.pid, "host": status.host})
        return
    verb = "already runs" if already else "runs"
    call.output.say(f"bastion {place.name} {verb}: pid {status.pid} on {status.host}, in {place.bucket.url}")


def _advise(call: Call[CreateOptions], place: BastionPlace) -> None:
    """Print how to store the flags in a profile."""
    if call.options.bucket and not call.output.json and not profiles_path(call.environ).exists():
        profile = place.name.replace(".", "-")
        call.output.note(f"to need these flags no more: bastion config add {profile} {' '.join(place.flags())}")
