"""Share one machine between several people: the author of each request, and the folders of the shared bucket."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Mapping
from itertools import islice

from bastion.launcher.access.health_checks import NAMED, Check, HealthLevel
from bastion.model.errors import UsageError
from bastion.model.job.spec import USER
from bastion.model.settings.config import EVERYBODY, Config
from bastion.runners.worker.linux.unix_account import chosen, is_known, name_of
from bastion.service.received_request import RequestAuthors
from bastion.stores import shared_folder
from bastion.stores.shared_folder import FolderMode

from .place import BastionPlace

FOLDER = "/var/lib/bastion/bucket"
"""The bucket of a shared bastion that was created without one. Every account can reach it."""

ACCOUNTS_MAX = 10_000
_FIRST_UID, _LAST_UID = 1_000, 60_000
"""The range of people's account numbers, as systems give them. Services have lower numbers."""

MEND = "repair it as root: bastion create --local --shared"


def authors(config: Config) -> RequestAuthors:
    """Return the accounts that may ask in the name of others, for the bastion of this process.

    Raises `RunnerError` as `chosen` does.
    """
    own, alone = os.geteuid(), config.runners == ["local"] and not (config.shared or config.run_as)
    me = name_of(own)
    refused = (
        f"the job would run as {me}, the account of the bastion, which no admin has allowed for jobs of other users; allow "
        f"it with bastion config set run_as={me}, or run jobs as their own users: bastion create --local --shared"
    )
    is_own = alone and not chosen(config.run_as, own, is_known)
    return RequestAuthors(
        own=own,
        number_of=number_of,
        name_of=lambda number: name_of(number) if number >= 0 else "more than one account",
        as_submitter=bool(config.shared),
        refused=refused if is_own else "",
    )


def number_of(user: str) -> int | None:
    """Return the number of the account of this name; None if this machine has no such account."""
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return None


def accounts(shared: str) -> Mapping[str, int]:
    """Return the people who share a bucket, with their account numbers.

    They are the members of the group, or the accounts of all people.
    """
    everybody = {row.pw_name: row for row in islice(pwd.getpwall(), ACCOUNTS_MAX) if USER.fullmatch(row.pw_name)}
    if shared == EVERYBODY:
        return {name: row.pw_uid for name, row in everybody.items() if _FIRST_UID <= row.pw_uid <= _LAST_UID}
    group = grp.getgrnam(shared)
    own = {name: row.pw_uid for name, row in everybody.items() if row.pw_gid == group.gr_gid}
    return own | {name: number for name in group.gr_mem if USER.fullmatch(name) and (number := number_of(name))}


def check(shared: str, url: str) -> None:
    """Raise `UsageError` if this account or this bucket cannot be shared."""
    if os.geteuid() != 0:
        raise UsageError("only root can run jobs as others: sudo bastion create --local --shared")
    if not url.startswith("file://"):
        raise UsageError(
            f"--shared needs a folder as the bucket, but the bucket is {url}; leave --bucket or --shared out"
        )
    if shared != EVERYBODY:
        _gid(shared)
    if closed := shared_folder.closed_above(url.removeprefix("file://")):
        raise UsageError(
            f"other accounts cannot reach {url}, because {closed} is closed to them; use --bucket=file://{FOLDER}"
        )


def share(place: BastionPlace, shared: str) -> None:
    """Make the folders of a shared bucket, and set the modes of what is there already. Raises `OSError`."""
    for folder in _wanted(place, shared):
        if folder.path == os.fsencode(place.root.url.removeprefix("file://")):
            os.makedirs(folder.path, exist_ok=True)
        folder.make()
    shared_folder.mend(place.root.url.removeprefix("file://"), place.name)


def keep(place: BastionPlace, config: Config) -> None:
    """Repair the folders of a shared bucket when a bastion starts.

    Only folders are checked: somebody may have changed their modes, or accounts may be new.
    """
    if config.shared:
        os.umask(0o022)
        for folder in _wanted(place, config.shared):
            if folder.fault():
                folder.make()


def doctor(place: BastionPlace, config: Config) -> Check:
    """Check the modes of a shared bucket."""
    name = f"rights on {place.root.url}"
    wrong = [fault for folder in _wanted(place, config.shared) if (fault := folder.fault())]
    if wrong:
        more = f", and {len(wrong) - NAMED} more" if len(wrong) > NAMED else ""
        return Check(HealthLevel.FAILED, name, f"{'; '.join(wrong[:NAMED])}{more}", MEND)
    who = "all accounts of this machine" if config.shared == EVERYBODY else f"the group {config.shared}"
    return Check(
        HealthLevel.OK, name, f"shared by {who}: each account writes only its own requests, bundles and watches"
    )


def _wanted(place: BastionPlace, shared: str) -> list[FolderMode]:
    gid = None if shared == EVERYBODY else _gid(shared)
    root = place.root.url.removeprefix("file://")
    uid = os.stat(root).st_uid if os.path.isdir(root) and os.geteuid() else 0
    return list(shared_folder.wanted(root, place.name, gid, accounts(shared), uid))


def _gid(group: str) -> int:
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        raise UsageError(f"this machine has no group {group}; make it with groupadd {group}") from None
