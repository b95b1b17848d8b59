"""Change values in a TOML text that people wrote. Comments, order and spaces stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bastion.model.errors import BastionError

Change = Mapping[str, Any]
"""New values by key. A mapping is a table. None removes a key."""


def amended(text: str, change: Change) -> str:
    """Return the text with these values. Tables in `change` keep the keys that `change` does not name.

    Raises `BastionError` if the text is not TOML, or if it has another kind of value where `change` has a table.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        _amend(document, change)
        return tomlkit.dumps(document)
    except TOMLKitError as error:
        raise BastionError(f"not TOML: {error}") from error


def _amend(table: Any, change: Change) -> None:
    for key, value in change.items():
        if value is None:
            table.pop(key, None)
        elif isinstance(value, Mapping) and key in table:
            if not isinstance(table[key], Mapping):
                raise BastionError(f"{key} is no table; write it again with an editor")
            _amend(table[key], value)
        elif key in table:
            table[key] = value
        else:
            _add(table, key, value)


def _add(table: Any, key: str, value: Any) -> None:
    """Add the key after the last key, and before the comments below it: those comments belong to the next table."""
    from tomlkit.items import Table

    below = []
    if isinstance(table, Table):
        body = table.value.body
        while body and body[-1][0] is None:
            below.append(body.pop())
    table[key] = value
    if below:
        table.value.body.extend(reversed(below))
