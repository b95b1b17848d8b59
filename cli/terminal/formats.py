"""Choose the form of a result: `-o table|wide|csv|json`. `--json` stands for the last. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from bastion.model.errors import UsageError
from bastion.model.nearest import did_you_mean

from .flags import Flag, text

TABLE, WIDE, CSV, JSON = "table", "wide", "csv", "json"


def formats(*forms: str) -> Flag[str]:
    """Declare the flag `output` of a command that has these formats."""
    about = f"Print as {', '.join(forms[:-1])} or {forms[-1]}."
    return text(about, "FORMAT", default=TABLE, short="o", choices=forms)


def format_of(output: str, json: bool, *forms: str) -> str:
    """Return the format that `--output` and `--json` ask for together. Raises `UsageError`."""
    if output not in forms:
        raise UsageError(f"--output is {output[:64]!r}; {did_you_mean(output[:64], forms, 'use ' + ', '.join(forms))}")
    if json and output not in (TABLE, JSON):
        raise UsageError(f"--json and --output={output} ask for two formats; leave one out")
    return JSON if json else output


def wants_json(argv: Sequence[str]) -> bool:
    """Return True if the command line asks for JSON.

    It looks before the parser does, because the parser's errors are JSON, too.
    """
    before = list(argv[: argv.index("--")] if "--" in argv else argv)
    if any(word in ("--json", "-json", "--json=true", "--output=json", "-ojson", "-o=json") for word in before):
        return True
    return any(pair in (("-o", JSON), ("--output", JSON)) for pair in pairwise(before))
