"""Describe the commands that both tools have. Pure."""

from __future__ import annotations

from ..options.shared import CodeOptions
from ..terminal.flags import Command

BUNDLE = Command(
    name="bundle",
    about="Put this folder's code where machines find it, the bucket or a registry, and print what it is known by and where "
    "it is. No job is made.",
    module="bastion.cli.common.bundle_command",
    options=CodeOptions,
)
