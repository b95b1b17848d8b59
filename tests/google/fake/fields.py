"""Partial answers: the parameter `fields`. Pure."""

from __future__ import annotations

from typing import Any


def only(fields: str, answer: dict[str, Any]) -> dict[str, Any]:
    """What of an answer is asked for: `items(name,status),nextPageToken`, `items/*/instances(id)`. All of it if empty."""
    return _keep(answer, _parse(fields)[0]) if fields else answer  # type: ignore[no-any-return]


def _keep(value: Any, wanted: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_keep(item, wanted) for item in value]
    if not isinstance(value, dict) or not wanted:
        return value
    kept = {}
    for name, inner in value.items():
        if name in wanted or "*" in wanted:
            kept[name] = _keep(inner, wanted.get(name, wanted.get("*", {})))
    return kept


def _parse(text: str) -> tuple[dict[str, Any], str]:
    """A tree of names, up to a closing bracket, and what is left of the text."""
    found: dict[str, Any] = {}
    while text and text[0] != ")":
        end = next((n for n, char in enumerate(text) if char in ",()/"), len(text))
        name, text = text[:end], text[end:]
        inner: dict[str, Any] = {}
        at = found
        while text.startswith("/"):
            at = at.setdefault(name, {})
            end = next((n for n, char in enumerate(text[1:], 1) if char in ",()/"), len(text))
            name, text = text[1:end], text[end:]
        if text.startswith("("):
            inner, text = _parse(text[1:])
            text = text[1:]
        at.setdefault(name, {}).update(inner)
        text = text.removeprefix(",")
    return found, text
