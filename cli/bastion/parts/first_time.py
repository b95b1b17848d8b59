"""Choose the missing settings of `bastion create`: a name and a folder, and at the end a profile that stores both."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import Any

from bastion.launcher.submit.profiles import Profile
from bastion.model.errors import RunnerError, UsageError
from bastion.model.job.spec import NAME
from bastion.platform.local_paths import data_folder

from ...common import installed_runners
from ...common.place import BastionPlace, load_profiles, profiles_for_all, profiles_path_for_all, setting_of
from ...common.runner_contexts import runner_context
from ...common.shared_host import FOLDER
from ...options.bastion import CreateOptions
from ...terminal.main import Call
from .profile_store import store, store_for_all

ENGINES = {"slurm": "partition", "ray": "dashboard"}
"""Runners of a cluster that exists already, each with the flag for its place. The bastion is then on this machine."""

RUNNERS = ("kubernetes", *ENGINES)
_HERE = "default"


@dataclass(frozen=True, slots=True)
class ChosenDefaults:
    """The values that were chosen for the user. Both are empty if flags, variables or a profile set everything.

    name: the chosen name.
    folder: the chosen folder for the bucket.
    """

    name: str = ""
    folder: str = ""

    def lines(self) -> list[str]:
        """Return the message about it."""
        named = f"the name {self.name}, after this machine" if self.name else ""
        stored = f"the folder {self.folder} as the bucket" if self.folder else ""
        return [f"chose {', and '.join(filter(None, (named, stored)))}"]


def completed(call: Call[CreateOptions]) -> tuple[Call[CreateOptions], ChosenDefaults]:
    """Return the call with a name and a bucket, and which of them were chosen here.

    Raises `UsageError` for contradictory flags.
    """
    engine = engine_of(call)
    if not (call.options.local or engine):
        return call, ChosenDefaults()
    chosen = ChosenDefaults(
        name="" if setting_of(call, "bastion") else _name(),
        folder="" if setting_of(call, "bucket") else FOLDER if call.options.shared else str(data_folder(call.environ)),
    )
    named = {"bastion": chosen.name} if chosen.name else {}
    stored = {"bucket": f"file://{chosen.folder}"} if chosen.folder else {}
    return replace(call, options=call.options.but(**named, **stored)), chosen


def engine_of(call: Call[CreateOptions]) -> str:
    """Return the engine that --runner names; "" for none.

    Raises `UsageError` where the flags of two fleets are mixed.
    """
    runner = call.options.runner or ""
    for engine, flag in ENGINES.items():
        if call.options.values[flag] and runner != engine:
            raise UsageError(f"--{flag} needs --runner={engine}; add it, or leave --{flag} out")
    if runner and runner not in RUNNERS:
        raise UsageError(f"--runner is {runner[:64]!r}; use {', '.join(RUNNERS)}")
    if runner and call.options.local:
        raise UsageError(f"--local and --runner={runner} are two fleets; leave one out, and add it to `runners` later")
    return runner if runner in ENGINES else ""


def engine_settings(call: Call[CreateOptions], options: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the settings of the engine, by the names in `config.toml`.

    `options` are the present ones of all runners.
    """
    engine = engine_of(call)
    if not engine:
        return {}
    where = call.options.values[ENGINES[engine]]
    key = "address" if engine == "ray" else ENGINES[engine]
    own = {**options.get(engine, {}), **({key: where} if where else {})}
    return {"runners": [engine], **({"runner_options": {**options, engine: own}} if own else {})}


def check_engine(call: Call[CreateOptions], place: BastionPlace) -> None:
    """Ask the engine for its jobs, before anything is stored. Raises `UsageError` if it does not answer."""
    engine = engine_of(call)
    if not engine:
        return
    if wrong := list(installed_runners.faults(place.settings)):
        raise UsageError("; ".join(wrong))
    runner = installed_runners.maker(engine).make(runner_context(place, place.settings, call.environ, engine))
    try:
        with call.output.progress(f"asking {engine}"):
            runner.list()
    except RunnerError as error:
        raise UsageError(f"{engine} does not answer, so nothing was stored: {error}") from error


def keep(call: Call[CreateOptions], place: BastionPlace, chosen: ChosenDefaults) -> list[str]:
    """Store the choices in a profile, which becomes active if none was. Return the message about it."""
    if not (chosen.name or chosen.folder):
        return []
    known = load_profiles(call.environ)
    name = re.sub(r"[^A-Za-z0-9_-]", "-", place.name)
    said = {"bucket": place.root.url, "bastion": place.name}
    if name in known.named and dict(known.named[name].values) != said:
        return [f"profile {name} has other values and stays as it is; use {' '.join(place.flags())}"]
    active = {} if known.active else {"active": name}
    store(call.environ, {**active, "profiles": {name: said}})
    if known.active and known.active != name:
        return [f"profile {known.active} stays active; to use this bastion: bastion config activate {name}"]
    return [f"profile {name} is active, so launch needs no flags: launch --follow -- python train.py"]


def keep_for_all(call: Call[CreateOptions], place: BastionPlace) -> str:
    """Store a profile for those accounts of this machine that have no profile. Return the message about it."""
    name = re.sub(r"[^A-Za-z0-9_-]", "-", place.name)
    file = profiles_path_for_all(call.environ)
    known, said = profiles_for_all(call.environ), {"bucket": place.root.url, "bastion": place.name}
    if known.active and dict(known.named.get(known.active, Profile()).values) != said:
        return f"{file} names another bastion and stays as it is; to use this one, add {' '.join(place.flags())}"
    store_for_all(call.environ, {"active": name, "profiles": {name: said}})
    return f"profile {name} is active for every account of this machine ({file}): launch needs no flags"


def _name() -> str:
    """Return the host's first label, changed to be a valid name; `default` if that is not possible."""
    label = re.sub(r"[^a-z0-9-]", "-", os.uname().nodename.partition(".")[0].lower()).strip("-")[:63].strip("-")
    return label if NAME.fullmatch(label) else _HERE
