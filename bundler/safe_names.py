"""The names and links that a bundle may hold. Packing and unpacking keep the same rules. Pure."""

from __future__ import annotations

DEEPEST = 100
"""The most parts of a name. The code that makes and removes folders is recursive, so the depth needs a bound."""


def name_fault(path: str) -> str | None:
    """Return the fault of a member's name, which is relative to the root of the tree; None if there is none."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return "is not UTF-8"
    if path.startswith("/"):
        return "is an absolute path"
    parts = path.split("/")
    if "\0" in path or any(part in {"", ".", ".."} for part in parts):
        return "has an empty, '.' or '..' part"
    return f"has more than {DEEPEST} parts" if len(parts) > DEEPEST else None


def link_fault(path: str, target: str) -> str | None:
    """Return the fault of a symbolic link at `path`; None if it is relative and stays in the tree.

    `..` may only stand at the beginning: there it climbs real folders, which can be counted. After a part that may
    itself be a link, `..` could lead anywhere.
    """
    fault = None if target else "is empty"
    parts = [part for part in target.split("/") if part not in {"", "."}]
    climbed = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    if target.startswith("/"):
        fault = "is an absolute path"
    elif ".." in parts[climbed:]:
        fault = "has '..' after a name"
    elif climbed > path.count("/"):
        fault = "leaves the folder"
    elif climbed < len(parts):
        fault = name_fault("/".join(parts[climbed:]))
    return fault
