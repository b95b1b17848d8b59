"""Which bastion in which bucket a command line means."""

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

from ..terminal.main import Call
from .profile import settings_of

NAMES_MAX = 100
_AFTER_SLASH = "0"  # the character that follows `/`: `a0` is greater than every key of the folder `a`


@dataclass(frozen=True, slots=True)
class BastionPlace:
    """A bastion's name, the whole bucket, and the bastion's part of it. `settings` are those in force, where it is known."""

    name: str
    root: Bucket
    bucket: Bucket
    settings: Config = field(default_factory=Config)

    def housed(self, config: Config) -> BastionPlace:
        """The same, with logs, outputs and bundles where the settings say."""
        urls = {home: f"{url.rstrip('/')}/{self.name}" for home, url in config.buckets.items()}
        return BastionPlace(self.name, self.root, housed(self.bucket, urls), config)

    def flags(self) -> list[str]:
        """What leads another process to the same place."""
        return [f"--bastion={self.name}", f"--bucket={self.root.url}"]

    def config(self) -> Config:
        """The bastion's settings. Raises `RecordError` if they make no sense, `BastionError` if there are none."""
        try:
            return parse(self.bucket.read(CONFIG).data)
        except Missing:
            raise BastionError(unknown(self)) from None

    def status(self) -> Status | None:
        """The bastion's last sign of life, if it ever gave one."""
        try:
            return decode(self.bucket.read(STATUS).data, Status, STATUS)
        except Missing:
            return None

    def is_up(self, clock: Clock) -> bool:
        """True if a bastion runs and has ended its first tick."""
        status = self.status()
        if status is None or not status.ticks:
            return False
        return word(status, now=clock.wall(), died=host.died(status)) == RUNNING

    def has_ended(self) -> bool:
        """True if the last bastion said that it stopped, is dead on this machine, or never was."""
        status = self.status()
        return status is None or status.state == STOPPED or host.died(status)


def place_of(call: Call, *, create: bool = False) -> BastionPlace:
    """Where the command line points; whether a bastion is there is not asked. `create`: make a missing folder."""
    said = settings_of(call)
    root = open_bucket(said.bucket, create=create)
    return BastionPlace(said.bastion, root, Prefixed(root, said.bastion))


def known_place_of(call: Call) -> BastionPlace:
    """Where the command line points. Raises `BastionError` if no bastion was ever created there."""
    place = place_of(call)
    try:
        text = place.bucket.read(CONFIG).data
    except Missing:
        raise BastionError(unknown(place)) from None
    return place.housed(in_force(place, text))


def in_force(place: BastionPlace, text: bytes) -> Config:
    """The settings of this text, or the last good ones, from the journal, if it makes no sense."""
    try:
        return parse(text)
    except Newer:
        raise
    except RecordError:
        last = recover.load(place.bucket).files.get("config")
        return parse(last.text) if last and last.text else Config()


def stored(place: BastionPlace) -> Config:
    """The settings in force, though somebody may be about to mend them; the defaults of a bastion that is not made yet."""
    try:
        return in_force(place, place.bucket.read(CONFIG).data)
    except Missing:
        return Config()


def is_known(place: BastionPlace) -> bool:
    """True if a bastion was created there."""
    try:
        place.bucket.read(CONFIG)
    except Missing:
        return False
    return True


def unknown(place: BastionPlace) -> str:
    """What to say of a place without a bastion."""
    create = f"create one with bastion create {' '.join(place.flags())}"
    return (
        f"there is no bastion {place.name} in {place.root.url}; {did_you_mean(place.name, names(place.root), create)}"
    )


def names(root: Bucket) -> list[str]:
    """The first names in the bucket, of bastions or not: one request for each."""
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
