"""The context of each `launch` command: the place, the interfaces, and the user."""

from __future__ import annotations

import getpass
import os
import pwd
from dataclasses import dataclass

from bastion.launcher.read.reader import BastionReader
from bastion.model.errors import UsageError
from bastion.model.interfaces import Bucket, Clock, Ids, Tasks
from bastion.model.settings.config import Config
from bastion.platform.system import RandomIds, SystemClock, ThreadTasks

from ..terminal.flags import Options
from ..terminal.main import Call
from .place import known_place_of, setting_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """The interfaces and values that one command works with.

    bastion: the name of the bastion.
    bucket: the bastion's part of the bucket.
    clock: the time.
    tasks: work beside the caller.
    ids: new random ids.
    settings: the bastion's settings in force.
    """

    bastion: str
    bucket: Bucket
    clock: Clock
    tasks: Tasks
    ids: Ids
    settings: Config

    def reader(self, *, user: str | None = None) -> BastionReader:
        """Return a reader of the bastion's part of the bucket; `user` as in `BastionReader`."""
        return BastionReader(self.bucket, self.clock, self.tasks, user=user)


def context_of(call: Call[Options]) -> CommandContext:
    """Return the context for the place that the command line names.

    Raises `BastionError` if no bastion was ever there.
    """
    place = known_place_of(call)
    return CommandContext(
        bastion=place.name,
        bucket=place.bucket,
        clock=SystemClock(),
        tasks=ThreadTasks(),
        ids=RandomIds(),
        settings=place.settings,
    )


def user_of(call: Call[Options]) -> str:
    """Return the user of the call: --user_id, or the variable or profile that stands for it, else the login name.

    Raises `UsageError` if there is none of these.
    """
    if said := setting_of(call, "user_id"):
        return said.value
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise UsageError("this machine does not know your login name; use --user_id or set BASTION_USER") from error


def check_user(settings: Config, user: str) -> None:
    """Raise `UsageError` where the bastion would not accept requests in this user's name.

    On a shared machine, the account decides: only root may ask in another name.
    """
    if not settings.shared or not (own := os.geteuid()):
        return
    try:
        me = pwd.getpwuid(own).pw_name
    except KeyError:
        me = str(own)
    if user != me:
        raise UsageError(f"you are {me} on this machine, and only root may act as {user}; leave --user_id out")
