"""The line numbers of the keys in a TOML text, which the TOML parser does not give. Pure.

This is a light scan for headers and for keys at the beginning of a line. For what it does not find (inline tables, text
over several lines) it gives the line of the table around it. That is good enough to lead a person to the place.
"""

from __future__ import annotations

import re

Path = tuple[str, ...]

_KEY = r"""(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)"""
_DOTTED = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_HEADER = re.compile(rf"[ \t]*(?P<open>\[\[?)[ \t]*(?P<keys>{_DOTTED})[ \t]*\]")
_ROW = re.compile(rf"[ \t]*(?P<keys>{_DOTTED})[ \t]*=")


class TomlLines:
    """The line numbers, from 1, of the keys of one text. The rows of an array of tables are named "0", "1", ..."""

    def __init__(self, text: str) -> None:
        self._text = text.split("\n")
        self._at: dict[Path, int] = {}
        self._rows: dict[Path, int] = {}
        table: Path = ()
        for number, line in enumerate(self._text, 1):
            if header := _HEADER.match(line):
                table = self._table(_path(header["keys"]), is_row=header["open"] == "[[")
                self._at.setdefault(table, number)
            elif row := _ROW.match(line):
                self._at.setdefault(table + _path(row["keys"]), number)

    def of(self, *path: str) -> int:
        """Return the line of a key, or of the nearest table around it; 1 if neither is found."""
        while path and path not in self._at:
            path = path[:-1]
        return self._at.get(path, 1)

    def of_text(self, item: str, *path: str) -> int:
        """Return the line of a string inside the list that a key holds; the line of the key if it is not found."""
        start = self.of(*path)
        quoted = (f'"{item}"', f"'{item}'")
        lines = enumerate(self._text[start - 1 :], start)
        return next((number for number, line in lines if any(text in line for text in quoted)), start)

    def _table(self, path: Path, *, is_row: bool) -> Path:
        if not is_row:
            return path
        number = self._rows.get(path, 0)
        self._rows[path] = number + 1
        return (*path, str(number))


def _path(keys: str) -> Path:
    return tuple(key[1:-1] if key[0] in "\"'" else key for key in re.findall(_KEY, keys))
