"""Which names and links a bundle may hold. Packing and unpacking keep the same rules. Pure."""

from __future__ import annotations

DEEPEST = 100
"""The most parts of a name: what removes and makes folders recurses."""


def name_fault(path: str) -> str | None:
    """What is wrong with the name of a member, relative to the tree's root; None if it is fine."""
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
    """What is wrong with a symbolic link at `path`; None if it is relative and stays in the tree.

    `..` may only lead: these climb real folders, and can be counted. After a part that may itself be a link,
    `..` could lead anywhere.
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
