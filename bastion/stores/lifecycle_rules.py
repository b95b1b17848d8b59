"""Lifecycle rules: what a cloud store removes by itself, in the format of each store. Pure.

Only bundles and logs have rules, each below a bastion's own prefix. The journal and claims have none: their names
fence, and must not be used again. Outputs have none either: a store goes by the age of each file, and would remove old
files from the folder of a job that still runs. `bastion gc` removes outputs. Rules that others made stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..model.layout import BASTION_LOG, BUNDLES, LOGS
from .expiry import RetentionDays

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LifecycleRule:
    """A rule that removes old objects.

    prefix: the names of these objects in the store begin with it.
    days: the age at which they are removed; 0: there is no such rule.
    """

    prefix: str
    days: int


def wanted(term: RetentionDays, below: Callable[[str], str]) -> list[tuple[str, LifecycleRule]]:
    """List (prefix of keys, its rule) for all that expires. `below` turns a prefix of keys into a prefix of names."""
    days = {BUNDLES: term.bundles_days, LOGS: term.logs_days, BASTION_LOG: term.logs_days}
    return [(prefix, LifecycleRule(below(prefix), kept)) for prefix, kept in days.items()]


def to_google(rules: Iterable[LifecycleRule], there: Sequence[Json] = ()) -> list[Json]:
    """Return the rules of a bucket of Google Cloud Storage: those that are there, with ours among them once."""
    ours = list(rules)
    prefixes = [[rule.prefix] for rule in ours]
    kept = [rule for rule in there if rule.get("condition", {}).get("matchesPrefix") not in prefixes]
    made = [
        {"action": {"type": "Delete"}, "condition": {"age": rule.days, "matchesPrefix": [rule.prefix]}}
        for rule in ours
        if rule.days
    ]
    return [*kept, *made]


def to_s3(rules: Iterable[LifecycleRule], there: Sequence[Json] = ()) -> list[Json]:
    """Return the rules of a bucket of S3: those that are there, with ours among them once."""
    ours = list(rules)
    names = {_name(rule) for rule in ours}
    kept = [rule for rule in there if rule.get("ID") not in names]
    made = [
        {
            "ID": _name(rule),
            "Status": "Enabled",
            "Filter": {"Prefix": rule.prefix},
            "Expiration": {"Days": rule.days},
        }
        for rule in ours
        if rule.days
    ]
    return [*kept, *made]


def _name(rule: LifecycleRule) -> str:
    return f"bastion: {rule.prefix}"[:255]


def for_google(rules: Sequence[Json]) -> Json:
    """Return the content of the file for `gcloud storage buckets update --lifecycle-file`."""
    return {"rule": list(rules)}


def for_s3(rules: Sequence[Json]) -> Json:
    """Return the content of the file for `aws s3api put-bucket-lifecycle-configuration`."""
    return {"Rules": list(rules)}


DIALECTS: Mapping[str, tuple[Callable[..., list[Json]], Callable[[Sequence[Json]], Json], str]] = {
    "gs": (to_google, for_google, "gcloud storage buckets update gs://{bucket} --lifecycle-file=FILE"),
    "s3": (
        to_s3,
        for_s3,
        "aws s3api put-bucket-lifecycle-configuration --bucket {bucket} --lifecycle-configuration file://FILE",
    ),
}
"""For the scheme of each store: rules into its format, its format into a file, and the command that takes the file."""
