"""Collect the checks of `bastion doctor`: try each right below each prefix, and inspect workers and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeVar

from bastion.journal import recover
from bastion.launcher.access import health_checks
from bastion.launcher.access.health_checks import Check, Probe, WorkerKey
from bastion.model import layout
from bastion.model.clocks import WriteTime, offset
from bastion.model.codec import decode
from bastion.model.errors import AccessDenied, BastionError, BucketError, ObjectNotFound, RecordError, TooLarge
from bastion.model.interfaces import Bucket, Clock, Ids, Stat, Tasks
from bastion.model.settings import config
from bastion.model.state.state import State
from bastion.model.stored.records import RECORD_BYTES_MAX, Facts
from bastion.model.stored.status import Status
from bastion.platform import host
from bastion.quota.quota import QuotaError
from bastion.quota.quota_file import parse as parse_quota
from bastion.stores.conformance.suite import EXCLUSIVE, QUICK, prove
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from bastion.stores.routed import url_of

from ...common import shared_host
from ...common.place import BastionPlace
from . import doctor_rights

T = TypeVar("T")
LISTED = 10_000
"""The largest number of claims and of beats that are listed."""

ODD_LISTED, ODD_MAX, TOPS_MAX = 1_000, 10, 100
"""Limits of the search for foreign names: objects per prefix, names that are reported, names at the top."""

READ = 200
"""The largest number of workers that are asked for their version."""


_FILE_BYTES_MAX = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RightsTrial:
    """The result of trying the rights below one prefix.

    probe: the rights that were refused.
    moment: the date of the written object, between two readings of our clock; None if none was written.
    """

    probe: Probe
    moment: WriteTime | None


class Examination:
    """One examination of a bastion by one user, who may not have the right to see everything."""

    def __init__(self, place: BastionPlace, user: str, clock: Clock, ids: Ids, tasks: Tasks) -> None:
        self._place, self._user, self._clock, self._ids, self._tasks = place, user, clock, ids, tasks
        self._bucket = place.bucket

    def examine(self, version: str) -> list[Check]:
        """Return every check, the most important ones first."""
        texts = {file: self._read(file) for file in health_checks.FILES}
        settings, admins = self._settings(texts[layout.CONFIG])
        tried = self._try_all()
        moment = next((each.moment for each in tried if each.moment), None)
        now = self._clock.wall() + timedelta(seconds=offset(moment) if moment else 0)
        status, broken_status = _sound(lambda: self._status(texts[layout.STATUS]), layout.STATUS)
        died = status is not None and host.died(status)
        state, broken_journal = _sound(lambda: recover.load(self._bucket, self._tasks.map), layout.JOURNAL)
        return [
            *(broken_status or [health_checks.age(status, now=now, died=died)]),
            *broken_journal,
            *health_checks.troubles(status, now=now, died=died),
            *health_checks.accounts(status, self._place.bucket.url),
            settings,
            self._quota(texts[layout.QUOTA], state),
            *(health_checks.readable(file, text if isinstance(text, str) else "") for file, text in texts.items()),
            *(health_checks.rights(each.probe, user=self._user, admin=self._user in admins) for each in tried),
            *self._exclusive(tried),
            *self._rights(admin=self._user in admins),
            *health_checks.clocks(self._clocks(moment, status, state), now),
            self._odd(),
            *self._workers(state, status, version, now),
        ]

    def _rights(self, *, admin: bool) -> list[Check]:
        if self._place.settings.shared:
            return [shared_host.doctor(self._place, self._place.settings)]
        return doctor_rights.checks(self._bucket, admin=admin)

    def _read(self, key: str) -> bytes | str | None:
        """Return the content; None if there is no object, and a message as `str` if it cannot be read."""
        try:
            return self._bucket.read(key, _FILE_BYTES_MAX).data
        except ObjectNotFound:
            return None
        except (BucketError, TooLarge) as error:
            return str(error)

    def _settings(self, text: bytes | str | None) -> tuple[Check, Sequence[str]]:
        if not isinstance(text, bytes):
            return health_checks.file("config", "", "not known"), ()
        try:
            found = config.parse(text)
        except BastionError as error:
            return health_checks.file("config", f"{error}.", "the last good one"), ()
        return health_checks.file("config", "", f"valid; admins: {', '.join(found.admins) or 'none'}"), found.admins

    def _quota(self, text: bytes | str | None, state: State | None) -> Check:
        if not isinstance(text, bytes):
            absent = "there is none: everybody may use everything" if text is None else "not known"
            return health_checks.file("quota", "", absent)
        last = state.files.get("quota") if state else None
        force = "the last good one" if last and last.text else "none: nothing starts"
        try:
            found = parse_quota(text.decode())
        except (QuotaError, UnicodeDecodeError) as error:
            return health_checks.file("quota", f"{error}.", force)
        return health_checks.file("quota", "", f"valid; projects: {len(found.members)}")

    def _status(self, text: bytes | str | None) -> Status | None:
        return decode(text, Status, layout.STATUS) if isinstance(text, bytes) else None

    def _try_all(self) -> list[RightsTrial]:
        prefixes = [f"{layout.INBOX}{self._user}/" if p == layout.INBOX else p for p in health_checks.PREFIXES]
        found = self._tasks.map(self._try, prefixes)
        for each in found:
            if isinstance(each, Exception):
                raise each
        return found

    def _try(self, prefix: str) -> RightsTrial:
        """Try each of the five rights, even if an earlier one fails. Remove what was created."""
        key, refused, versions = layout.probe(prefix, self._ids.new()), dict[str, str](), list[str]()
        stats: list[Stat] = []

        def create() -> None:
            versions.append(self._bucket.create(key, b"doctor") or "")

        before = self._clock.wall()
        self._ask(refused, "create", create)
        after = self._clock.wall()
        self._ask(refused, "read", lambda: self._bucket.read(key))
        self._ask(refused, "list", lambda: stats.extend(self._bucket.list(key)))
        # Without an object of ours, any version shows whether we may replace: a missing object is no refusal.
        self._ask(refused, "replace", lambda: self._bucket.replace(key, b"again", (versions or ["1"])[0]))
        self._ask(refused, "delete", lambda: self._bucket.delete([key]))
        moment = WriteTime(before, stats[0].modified, after) if versions and stats else None
        return RightsTrial(Probe(prefix=prefix, url=url_of(self._bucket, prefix), refused=refused), moment)

    def _ask(self, refused: dict[str, str], right: str, request: Callable[[], object]) -> None:
        try:
            request()
        except ObjectNotFound:
            return
        except BucketError as error:
            refused[right] = str(error)

    def _exclusive(self, tried: Iterable[RightsTrial]) -> list[Check]:
        """Check each store of the bastion, below the first prefix where we have the necessary rights."""
        by_url: dict[str, list[str]] = {}
        for each in tried:
            able = not {"list", "create", "read", "delete"} & each.probe.refused.keys()
            by_url.setdefault(each.probe.url, []).extend([each.probe.prefix] if able else [])
        return [self._races(url, prefixes) for url, prefixes in by_url.items()]

    def _races(self, url: str, prefixes: Sequence[str]) -> Check:
        if not prefixes:
            return health_checks.exclusive(url, (), tried=False)
        at = PrefixedBucket(self._bucket, layout.probe(prefixes[0], self._ids.new()))
        wrong = [found.problem for found in prove(lambda: at, EXCLUSIVE, QUICK) if found.problem]
        return health_checks.exclusive(url, wrong, tried=True)

    def _clocks(self, moment: WriteTime | None, status: Status | None, state: State | None) -> health_checks.ClockFacts:
        theirs, folder_s, root = None, 0.0, self._place.root
        with suppress(BucketError):
            dated = next(iter(self._bucket.list(layout.STATUS)), None)
            theirs = (status.written, dated.modified) if status and dated else None
            folder_s = root.ahead_s() if isinstance(root, LocalBucket) else 0.0
        return health_checks.ClockFacts(
            ours=moment,
            host=host.name(),
            theirs=theirs,
            their_host=status.host if status else "",
            journalled=state.now if state else None,
            folder_s=folder_s,
        )

    def _odd(self) -> Check:
        """Find foreign names below our prefix.

        The names at the top are checked, at most `TOPS_MAX`, and the first `ODD_LISTED` names below each folder.
        """
        found: list[str] = []
        with suppress(BucketError):
            for top in _tops(self._bucket):
                stats = islice(self._bucket.list(top), ODD_LISTED if top.endswith("/") else 1)
                keys = (stat.key for stat in stats)
                found += islice((key for key in keys if not layout.is_ours(key)), ODD_MAX + 1)
        return health_checks.odd(found[:ODD_MAX], more=len(found) > ODD_MAX)

    def _workers(self, state: State | None, status: Status | None, version: str, now: datetime) -> list[Check]:
        live = [(key, n) for key, _, a in state.live_attempts() for n in range(len(a.workers))] if state else []
        checks = [health_checks.versions(version, status, self._versions(live[:READ]))]
        beats, _ = _sound(lambda: _times(self._bucket, layout.BEATS), layout.BEATS)
        claims, _ = _sound(lambda: _times(self._bucket, layout.CLAIMS), layout.CLAIMS)
        if state and beats is not None:
            checks += health_checks.workers(state, beats, now)
        if state and claims is not None:
            checks.append(health_checks.claims(state, claims, now))
        return checks

    def _versions(self, named: Sequence[WorkerKey]) -> list[str]:
        def of(worker: WorkerKey) -> str:
            key = layout.facts(*worker)
            return decode(self._bucket.read(key, RECORD_BYTES_MAX).data, Facts, key).version

        return [found for found in self._tasks.map(of, named) if isinstance(found, str)]


def _tops(bucket: Bucket) -> Iterator[str]:
    """List the first names in a bucket, folders with their slash. Each costs one request."""
    after = ""
    for _ in range(TOPS_MAX):
        stat = next(iter(bucket.list("", after=after)), None)
        if stat is None:
            return
        folder, slash, _ = stat.key.partition("/")
        yield folder + slash
        after = f"{folder}0" if slash else stat.key  # "0" follows "/": the next name after everything in the folder


def _times(bucket: Bucket, prefix: str) -> Mapping[WorkerKey, datetime]:
    stats = islice(bucket.list(prefix), LISTED)
    return {named: stat.modified for stat in stats if (named := layout.worker_of(stat.key))}


def _sound(ask: Callable[[], T], what: str) -> tuple[T | None, list[Check]]:
    """Return the value, or the check that says why it is unreadable. Missing rights are reported by another check."""
    try:
        return ask(), []
    except AccessDenied:
        return None, []
    except RecordError as error:
        return None, [health_checks.damaged(what, str(error))]
