"""Compute Engine's filters of listings: `labels.bastion=main AND status!=TERMINATED`, `(name eq a.*) (zone ne b)`. Pure."""

from __future__ import annotations

import re
from typing import Any

from tests.google.fake.refusals import Refusal

_TERM = re.compile(
    r"""\s*\(?\s*(?P<field>[\w.-]+)\s*(?P<op>!=|=|:|\beq\b|\bne\b)\s*(?P<value>"[^"]*"|'[^']*'|[^\s()]+)\s*\)?\s*(?:AND\b)?"""
)


def fits(row: dict[str, Any], text: str) -> bool:
    """Whether a row passes. Raises `Refusal` for what is no such filter: of what Google takes, this is the part with AND."""
    at, whole = 0, True
    while at < len(text):
        term = _TERM.match(text, at)
        if not term:
            raise Refusal(
                400, f"Invalid value for field 'filter': '{text}'. Invalid list filter expression.", reason="invalid"
            )
        whole = _fits(row, term["field"], term["op"], term["value"].strip("\"'")) and whole
        at = term.end()
    return whole


def _fits(row: dict[str, Any], field: str, op: str, wanted: str) -> bool:
    value: Any = row
    for part in field.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    match op:
        case "=":
            return text == wanted or (
                "*" in wanted and bool(re.fullmatch(re.escape(wanted).replace(r"\*", ".*"), text))
            )
        case "!=":
            return text != wanted
        case ":":
            return value is not None and (wanted == "*" or wanted.lower() in text.lower())
        case "eq":
            return value is not None and bool(re.fullmatch(wanted, text))
        case _:
            return not (value is not None and re.fullmatch(wanted, text))
