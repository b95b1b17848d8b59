"""Choose the form of a result: `-o table|wide|csv|json`. `--json` stands for the last. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from bastion.model.errors import UsageError
from bastion.model.nearest import did_you_mean

from .flags import Flag

TABLE, WIDE, CSV, JSON = "table", "wide", "csv", "json"


def flag(*formats: str) -> Flag:
    """Return the flag of a command that has these formats."""
    return Flag(
        "output",
        f"Print as {', '.join(formats[:-1])} or {formats[-1]}.",
        "FORMAT",
        default=TABLE,
        short="o",
        choices=formats,
    )


def format_of(flags: Mapping[str, Any], *formats: str) -> str:
    """Return the format that the flags ask for. Raises `UsageError`."""
    asked = str(flags["output"])
    if asked not in formats:
        raise UsageError(
            f"--output is {asked[:64]!r}; {did_you_mean(asked[:64], formats, 'use ' + ', '.join(formats))}"
        )
    if flags["json"] and asked not in (TABLE, JSON):
        raise UsageError(f"--json and --output={asked} ask for two formats; leave one out")
    return JSON if flags["json"] else asked


def wants_json(argv: Sequence[str]) -> bool:
    """Return True if the command line asks for JSON.

    It looks before the parser does, because the parser's errors are JSON, too.
    """
    before = list(argv[: argv.index("--")] if "--" in argv else argv)
    if any(word in ("--json", "-json", "--json=true", "--output=json", "-ojson", "-o=json") for word in before):
        return True
    return any(pair in (("-o", JSON), ("--output", JSON)) for pair in pairwise(before))
