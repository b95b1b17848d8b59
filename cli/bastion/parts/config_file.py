"""Handle the bastion's stored settings: for `bastion config set`, and for `bastion create`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_origin

import msgspec

from bastion.launcher.submit.build import amounts
from bastion.model.errors import RecordError, UsageError
from bastion.model.layout import CONFIG
from bastion.model.settings.config import Config, parse, render
from bastion.quota import toml_reader
from bastion.service.config_changes import affected, diff

from ...common import admin_file
from ...common.admin_file import AdminFile
from ...common.installed_runners import faults_of_known, unknown
from ...common.place import known_place_of
from ...options.bastion import ConfigOptions
from ...terminal.main import Call
from ...terminal.toml_edit import amended

_KINDS = {field.name: field.type for field in msgspec.structs.fields(Config)}


def checked(text: str) -> Config:
    """Return the settings in a text. Raises `RecordError`, also for what installed runners find wrong, and `NewerVersion`."""
    found = parse(text)
    if wrong := list(faults_of_known(found)):
        raise RecordError(f"config.toml: {'; '.join(wrong)}")
    return found


def elsewhere(config: Config) -> list[str]:
    """Return warnings about settings that only the bastion's own machine can check."""
    return list(unknown(config, "; the bastion accepts these settings only if it is installed on its own machine"))


CONFIG_FILE = AdminFile(
    name="config",
    key=CONFIG,
    parse=checked,
    absent=Config(),
    diff=diff,
    affected=affected,
    warnings=elsewhere,
    outline=render(Config()),
    done="in force within 10 s; changes to capacity, runners and google take effect after a restart",
)


def put(call: Call[ConfigOptions], words: Sequence[str]) -> int:
    """`bastion config set KEY=VALUE ...`: change these settings, and nothing else in the file."""
    place = known_place_of(call)
    held = admin_file.read(place.bucket, CONFIG_FILE)
    said = dict(map(_said, words))
    if len(said) < len(words):
        raise UsageError("a setting is named twice; name it once")
    return admin_file.put(call, place, CONFIG_FILE, held, changed(held.text, said))


def changed(text: str, said: Mapping[str, Any]) -> str:
    """Return the text with these settings; comments and everything else stay.

    A table is replaced, `table.key` changes one of its keys. Raises `UsageError` for a setting that is named as a table
    and as a value.
    """
    change: dict[str, Any] = {}
    for key, value in said.items():
        *tables, entry = key.split(
            ".", -1 if key.startswith("runner_options.") else 1
        )  # the name of a kind may have dots
        inner, old = change, _loaded(text)
        for table in tables:
            inner, old = inner.setdefault(table, {}), _table(old.get(table))
            if not isinstance(inner, dict):
                raise UsageError(f"{key} and the whole table {table} are both set; leave one out")
        inner[entry] = _in_place_of(_table(old.get(entry)), value)
    return amended(text, change)


def _in_place_of(old: Mapping[str, Any], value: Any) -> Any:
    """Return the change from one value to another. Of a table, keys that the new value lacks are removed."""
    if not isinstance(value, dict):
        return value
    # In a change, None removes a key.
    return {**dict.fromkeys(old), **{key: _in_place_of(_table(old.get(key)), inner) for key, inner in value.items()}}


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _loaded(text: str) -> Mapping[str, Any]:
    """Return the values of the text; nothing if it is not TOML, because the change itself will report that."""
    try:
        return toml_reader.loads(text)
    except toml_reader.TomlError:
        return {}


def _said(word: str) -> tuple[str, Any]:
    key, equals, text = word.partition("=")
    if not key or not equals:
        raise UsageError(f"{word!r} sets nothing; use KEY=VALUE, as in poll=0.5 or capacity=v4=8,cpu=4")
    return key, _value(key, text.strip())


def _value(key: str, text: str) -> Any:
    """Convert the text to the type of its setting. Quotes and brackets may be missing.

    A wrong type is reported later.
    """
    kind = _KINDS.get(key)
    if kind is str:
        return text
    if get_origin(kind) is list and not text.startswith("["):
        return [part for part in map(str.strip, text.split(",")) if part]
    if kind == dict[str, int] and not text.startswith("{"):
        return amounts([text], key)
    try:
        found = toml_reader.loads(f"value = {text}")
    except toml_reader.TomlError:
        return text
    return found["value"] if len(found) == 1 else text
