"""`bastion config list|activate|add|remove`: manage the profiles of this account."""

from __future__ import annotations

from typing import Any

from bastion.launcher.submit.profiles import KEYS, USUAL, Profiles, checked_name
from bastion.model.errors import BastionError

from ...common.place import load_profiles
from ...options.bastion import ConfigOptions
from ...terminal.main import DONE, Call
from ...terminal.table import table
from .profile_store import store


def list_all(call: Call[ConfigOptions]) -> int:
    """Print every profile, with a mark at the active one."""
    profiles = load_profiles(call.environ)
    if call.output.json:
        call.output.data(_json(profiles))
        return DONE
    if not profiles.named:
        call.output.say(f"there is no profile in {profiles.where}; make one with bastion config add NAME --bucket=URL")
        return DONE
    keys = [key for key in KEYS if key in USUAL or any(key in each.values for each in profiles.named.values())]
    rows = [
        ("*" if name == profiles.active else "", name, *(each.values.get(key, "") for key in keys))
        for name, each in sorted(profiles.named.items())
    ]
    heads = ("ACTIVE", "PROFILE", *(key.upper() for key in keys))
    call.output.say("\n".join(table(heads, rows, width=call.output.width)))
    if other := call.environ.get("BASTION_PROFILE"):
        call.output.note(f"BASTION_PROFILE is set, so this shell uses profile {other}")
    return DONE


def activate(call: Call[ConfigOptions], name: str) -> int:
    """Make this profile the active one. It sets what flags and environment do not."""
    load_profiles(call.environ).get(name, "bastion config activate")
    return _done(call, store(call.environ, {"active": name}), f"profile {name} is active")


def add(call: Call[ConfigOptions], name: str) -> int:
    """Make a profile from the flags, or change these values of an existing one. The first profile becomes active."""
    before = load_profiles(call.environ)
    known = checked_name(name) in before.named
    said = {key: call.options.values[key] for key in KEYS if call.options.values[key]}
    if not said and not known:
        raise BastionError(f"profile {name} would be empty; add --bucket=URL, --bastion=NAME, --project_id, --user_id")
    active = {"active": name} if not before.active else {}
    after = store(call.environ, {**active, "profiles": {name: said}})
    verb = "is changed" if known else "is created"
    use = " and active" if after.active == name else f"; use it with bastion config activate {name}"
    return _done(call, after, f"profile {name} {verb}{use}")


def remove(call: Call[ConfigOptions], name: str) -> int:
    """Remove a profile. If it was the active one, no profile is active afterwards."""
    before = load_profiles(call.environ)
    before.get(name, "bastion config remove")
    inactive = {"active": None} if before.active == name else {}
    return _done(call, store(call.environ, {**inactive, "profiles": {name: None}}), f"profile {name} is removed")


def _done(call: Call[ConfigOptions], profiles: Profiles, text: str) -> int:
    if call.output.json:
        call.output.data(_json(profiles))
    else:
        call.output.say(f"{text} ({profiles.where})")
    return DONE


def _json(profiles: Profiles) -> dict[str, Any]:
    named = {name: dict(each.values) for name, each in profiles.named.items()}
    return {"schema": 1, "file": profiles.where, "active": profiles.active or None, "profiles": named}
