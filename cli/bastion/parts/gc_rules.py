"""Print the lifecycle rules of a bastion's buckets, or put them in force."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bastion.model.errors import UsageError
from bastion.stores.expiry import RetentionDays
from bastion.stores.lifecycle_rules import DIALECTS, LifecycleRule, wanted
from bastion.stores.opening import open_ruled
from bastion.stores.routed import url_of

from ...common.place import BastionPlace
from ...terminal.flags import Options
from ...terminal.main import DONE, Call


def show_or_apply(call: Call[Options], place: BastionPlace, said: RetentionDays, *, applying: bool) -> int:
    """Print the rules of each bucket of the bastion, or put them in force."""
    by_url: dict[str, list[LifecycleRule]] = {}
    for prefix, rule in wanted(said, lambda prefix: _path(url_of(place.bucket, prefix)) + prefix):
        by_url.setdefault(url_of(place.bucket, prefix), []).append(rule)
    shown = [_of_one(call, place, url, rules, applying=applying) for url, rules in by_url.items()]
    if call.output.json:
        call.output.data({"schema": 1, "applied": applying, "buckets": shown})
    return DONE


def _of_one(
    call: Call[Options], place: BastionPlace, url: str, rules: Sequence[LifecycleRule], *, applying: bool
) -> dict[str, Any]:
    scheme, _, rest = url.partition("://")
    if scheme not in DIALECTS:
        raise UsageError(f"Bastion can set no lifecycle rules in {url}; run bastion gc from time to time")
    into_words, into_file, command = DIALECTS[scheme]
    name = rest.split("/", 1)[0]
    store = open_ruled(scheme, name)
    try:
        there = store.rules() if applying else ()
        words = into_words(rules, there)
        if applying:
            store.set_rules(words)
    finally:
        store.close()
    told = command.format(bucket=name)
    if applying and not call.output.json:
        call.output.say(f"{scheme}://{name}: {len(words)} rules are in force")
    elif not call.output.json:
        call.output.note(f"to apply these rules to {scheme}://{name} and replace all others there: {told}")
        call.output.data(into_file(words))
    return {"bucket": f"{scheme}://{name}", "command": told, **into_file(words)}


def _path(url: str) -> str:
    """Return the part of a store's keys before the bastion's own: `prefix/name/`."""
    return url.partition("://")[2].partition("/")[2] + "/"
