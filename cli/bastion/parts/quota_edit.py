"""Read and describe the quota file for admins."""

from __future__ import annotations

from pathlib import Path

from bastion.model.errors import BastionError
from bastion.model.layout import QUOTA
from bastion.quota.quota import Quota, QuotaError
from bastion.quota.quota_changes import diff, warnings
from bastion.quota.quota_file import BYTES_MAX, parse
from bastion.schedule.quota_impact import affected

from ...common.admin_file import AdminFile

OUTLINE = """\
# Who may use how much. Without this file everybody may use everything.

[toml-schema]
version = "1"

# What the fleet holds, by kind.
[total_resources]
# v4 = 8

# Names, and patterns in regular expressions, of the users of each project.
[project_membership]
# nlp = ["alice"]

# Fractions of the total. What is idle is lent to others.
# [project_resources.nlp]
# v4 = 0.5

# The classes of jobs that a project was granted: only urgent needs a grant.
# [project_classes]
# nlp = ["urgent"]

# What each user of a project may hold at once.
# [user_limits]
# nlp = { v4 = 4 }
"""


def strict(text: str) -> Quota:
    """Return the quota of a text. Raises `BastionError` with every complaint and its line."""
    try:
        return parse(text)
    except QuotaError as error:
        raise BastionError(str(error)) from error


def from_disk(path: Path) -> str:
    """Return the text of a file on this machine. Raises `BastionError` if it is too large or not UTF-8."""
    with path.open("rb") as file:
        data = file.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise BastionError(f"{path} has more than {BYTES_MAX} bytes; a quota file is smaller")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BastionError(f"{path}: line {line}: not UTF-8; save the file as UTF-8") from error


def load(path: Path) -> tuple[str, Quota]:
    """Return the text of a file on this machine, and its quota. Raises `BastionError` with the name of the file."""
    text = from_disk(path)
    try:
        return text, strict(text)
    except BastionError as error:
        raise BastionError(f"{path}: {error}") from error


QUOTA_FILE = AdminFile(
    name="quota",
    key=QUOTA,
    parse=strict,
    absent=Quota.open(),
    diff=lambda old, new: diff(None if old.is_open else old, new),
    affected=affected,
    warnings=warnings,
    outline=OUTLINE,
    done="in force within 10 s, and for every job submitted from now on",
)
