"""Find the bastion and the bucket that a command line names."""

from __future__ import annotations

from dataclasses import dataclass, field

from bastion.journal import recover
from bastion.model.codec import decode
from bastion.model.errors import BastionError, Forbidden, Missing, Newer, RecordError
from bastion.model.interfaces import Bucket, Clock
from bastion.model.layout import CONFIG, STATUS
from bastion.model.nearest import did_you_mean
from bastion.model.settings.config import Config, parse
from bastion.model.stored.records import Status
from bastion.model.stored.status import RUNNING, STOPPED, word
from bastion.platform import host
from bastion.stores.opening import housed, open_bucket
from bastion.stores.prefixed import Prefixed

from ..terminal.flags import Options
from ..terminal.main import Call
from .profile import settings_of

NAMES_MAX = 100
_AFTER_SLASH = "0"  # the character that follows `/`: `a0` is greater than every key of the folder `a`


@dataclass(frozen=True, slots=True)
class BastionPlace:
    """A bastion and its place in a bucket.

    name: the name of the bastion.
    root: the whole bucket.
    bucket: the bastion's part of it.
    settings: the settings in force; the defaults where they were not read.
    """

    name: str
    root: Bucket
    bucket: Bucket
    settings: Config = field(default_factory=Config)

    def housed(self, config: Config) -> BastionPlace:
        """Return the same place, with logs, outputs and bundles in the buckets of these settings."""
        urls = {home: f"{url.rstrip('/')}/{self.name}" for home, url in config.buckets.items()}
        return BastionPlace(self.name, self.root, housed(self.bucket, urls), config)

    def flags(self) -> list[str]:
        """Return the flags that lead another process to the same place."""
        return [f"--bastion={self.name}", f"--bucket={self.root.url}"]

    def config(self) -> Config:
        """Return the bastion's settings. Raises `RecordError` if they are invalid, `BastionError` if there are none."""
        try:
            return parse(self.bucket.read(CONFIG).data)
        except Missing:
            raise BastionError(unknown(self)) from None

    def status(self) -> Status | None:
        """Return the bastion's last status; None if it never wrote one."""
        try:
            return decode(self.bucket.read(STATUS).data, Status, STATUS)
        except Missing:
            return None

    def is_up(self, clock: Clock) -> bool:
        """Return True if a bastion runs and has ended its first tick."""
        status = self.status()
        if status is None or not status.ticks:
            return False
        return word(status, now=clock.wall(), died=host.died(status)) == RUNNING

    def has_ended(self) -> bool:
        """Return True if the last bastion stopped in order, is dead on this machine, or never ran."""
        status = self.status()
        return status is None or status.state == STOPPED or host.died(status)


def place_of(call: Call[Options], *, create: bool = False) -> BastionPlace:
    """Return the place that the command line names, without a check that a bastion is there.

    `create`: create a missing folder.
    """
    said = settings_of(call)
    root = open_bucket(said.bucket, create=create)
    return BastionPlace(said.bastion, root, Prefixed(root, said.bastion))


def known_place_of(call: Call[Options]) -> BastionPlace:
    """Return the place that the command line names, with the settings in force.

    Raises `BastionError` if no bastion was ever created there.
    """
    place = place_of(call)
    try:
        text = place.bucket.read(CONFIG).data
    except Missing:
        raise BastionError(unknown(place)) from None
    return place.housed(in_force(place, text))


def in_force(place: BastionPlace, text: bytes) -> Config:
    """Return the settings of this text.

    If it is invalid, return the last valid ones from the journal, or else the defaults.

    Raises `Newer` if a newer version wrote the text.
    """
    try:
        return parse(text)
    except Newer:
        raise
    except RecordError:
        last = recover.load(place.bucket).files.get("config")
        return parse(last.text) if last and last.text else Config()


def stored(place: BastionPlace) -> Config:
    """Return the settings in force, also while the stored text is invalid.

    If no bastion was created yet, return the defaults.
    """
    try:
        return in_force(place, place.bucket.read(CONFIG).data)
    except Missing:
        return Config()


def is_known(place: BastionPlace) -> bool:
    """Return True if a bastion was created there."""
    try:
        place.bucket.read(CONFIG)
    except Missing:
        return False
    return True


def unknown(place: BastionPlace) -> str:
    """Return the message for a place without a bastion."""
    create = f"create one with bastion create {' '.join(place.flags())}"
    return (
        f"there is no bastion {place.name} in {place.root.url}; {did_you_mean(place.name, names(place.root), create)}"
    )


def names(root: Bucket) -> list[str]:
    """List the first names in the bucket, at most `NAMES_MAX`, of bastions or of anything else.

    Each name costs one request.
    """
    found: list[str] = []
    after = ""
    while len(found) < NAMES_MAX:
        stat = next(iter(root.list("", after=after)), None)
        if stat is None:
            break
        found.append(stat.key.split("/", 1)[0])
        after = found[-1] + _AFTER_SLASH
    return found


def check_admin(place: BastionPlace, user: str) -> None:
    """Raise `Forbidden` unless the user is an admin of the bastion."""
    admins = place.config().admins
    if user not in admins:
        raise Forbidden(f"{user} is no admin of bastion {place.name}; ask one of {', '.join(admins) or 'nobody'}")
