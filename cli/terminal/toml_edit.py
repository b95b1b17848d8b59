"""Change values in a TOML text that people wrote: comments, order and spaces stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bastion.model.errors import BastionError

Change = Mapping[str, Any]
"""New values by key; a mapping is a table. None removes a key."""


def amended(text: str, change: Change) -> str:
    """The text with these values in it; tables that are named keep the keys that are not.

    Raises `BastionError` if the text is no TOML, or has another thing where a table is named.
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
                raise BastionError(f"{key} is no table; write it anew with an editor")
            _amend(table[key], value)
        elif key in table:
            table[key] = value
        else:
            _add(table, key, value)


def _add(table: Any, key: str, value: Any) -> None:
    """After the last key, and not after the comments below it: these belong to the table that follows."""
    from tomlkit.items import Table

    below = []
    if isinstance(table, Table):
        body = table.value.body
        while body and body[-1][0] is None:
            below.append(body.pop())
    table[key] = value
    if below:
        table.value.body.extend(reversed(below))
