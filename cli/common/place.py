"""Find the bastion and the bucket that a command line names.

They are set by its flags, by the environment, or by the profiles of this account and this machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bastion.journal import recover
from bastion.launcher.submit import profiles
from bastion.launcher.submit.profiles import FILE_BYTES_MAX, Profile, Profiles, Setting, Settings
from bastion.model.codec import decode
from bastion.model.errors import BastionError, Forbidden, NewerVersion, ObjectNotFound, RecordError
from bastion.model.interfaces import Bucket
from bastion.model.layout import CONFIG, STATUS
from bastion.model.nearest import did_you_mean
from bastion.model.settings.config import Config, parse
from bastion.model.stored.status import Status
from bastion.platform.local_paths import config_folder
from bastion.stores.opening import PrefixedBucket, housed, open_bucket

from ..terminal.flags import Options
from ..terminal.main import Call

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
        except ObjectNotFound:
            raise BastionError(unknown(self)) from None

    def status(self) -> Status | None:
        """Return the bastion's last status; None if it never wrote one."""
        try:
            return decode(self.bucket.read(STATUS).data, Status, STATUS)
        except ObjectNotFound:
            return None


def place_of(call: Call[Options], *, create: bool = False) -> BastionPlace:
    """Return the place that the command line names, without a check that a bastion is there.

    `create`: create a missing folder.
    """
    said = settings_of(call)
    root = open_bucket(said.bucket, create=create)
    return BastionPlace(said.bastion, root, PrefixedBucket(root, said.bastion))


def known_place_of(call: Call[Options]) -> BastionPlace:
    """Return the place that the command line names, with the settings in force.

    Raises `BastionError` if no bastion was ever created there.
    """
    place = place_of(call)
    try:
        text = place.bucket.read(CONFIG).data
    except ObjectNotFound:
        raise BastionError(unknown(place)) from None
    return place.housed(in_force(place, text))


def in_force(place: BastionPlace, text: bytes) -> Config:
    """Return the settings of this text.

    If it is invalid, return the last valid ones from the journal, or else the defaults.

    Raises `NewerVersion` if a newer version wrote the text.
    """
    try:
        return parse(text)
    except NewerVersion:
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
    except ObjectNotFound:
        return Config()


def is_known(place: BastionPlace) -> bool:
    """Return True if a bastion was created there."""
    try:
        place.bucket.read(CONFIG)
    except ObjectNotFound:
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
        whom = (
            f"ask one of {', '.join(admins)}" if admins else f"there is none yet; set admins in {CONFIG} of its bucket"
        )
        raise Forbidden(f"{user} is no admin of bastion {place.name}; {whom}")


def profiles_path(environ: Mapping[str, str]) -> Path:
    """Return the path of this account's profiles."""
    return config_folder(environ) / "config.toml"


def profiles_path_for_all(environ: Mapping[str, str]) -> Path:
    """Return the path of the profiles for all accounts of this machine. Root writes this file."""
    folders = environ.get("XDG_CONFIG_DIRS", "").split(os.pathsep)
    return Path(next(filter(os.path.isabs, folders), "/etc/xdg")) / "bastion" / "config.toml"


def load_profiles(environ: Mapping[str, str]) -> Profiles:
    """Load all profiles. This account's win over the machine's. Without a file, there are none.

    Raises `BastionError` if a file cannot be used.
    """
    path = profiles_path(environ)
    own, others = profiles.parse(profiles_text(path), str(path)), profiles_for_all(environ)
    return Profiles(where=own.where, active=own.active or others.active, named={**others.named, **own.named})


def profiles_for_all(environ: Mapping[str, str]) -> Profiles:
    """Load the profiles of the machine. Raises `BastionError` if the file cannot be used."""
    path = profiles_path_for_all(environ)
    return profiles.parse(profiles_text(path), str(path))


def profile_of(call: Call[Options]) -> Profile:
    """Return the profile of the call; one without a name if there is none. Raises `BastionError`."""
    known = load_profiles(call.environ)
    if name := call.options.profile:
        return known.get(name, "--profile")
    if name := call.environ.get("BASTION_PROFILE"):
        return known.get(name, "BASTION_PROFILE")
    return known.get(known.active, "active") if known.active else Profile()


def setting_of(call: Call[Options], key: str) -> Setting | None:
    """Return the value for this flag and its source; None if nothing sets it."""
    return profiles.setting(key, call.options.values, call.environ, lambda: profile_of(call))


def settings_of(call: Call[Options]) -> Settings:
    """Return the bastion and the bucket of the call. Raises `UsageError` if one of them is not set."""
    return profiles.settings(call.options.values, call.environ, lambda: profile_of(call))


def profiles_text(path: Path) -> str:
    """Return the text of a file of profiles; empty if there is none. Raises `BastionError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(FILE_BYTES_MAX + 1).decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise BastionError(f"{path} is not UTF-8; save it as UTF-8") from error
    except OSError as error:
        raise BastionError(
            f"{path} cannot be read: {error.strerror}; change its permissions, or use flags instead"
        ) from error
