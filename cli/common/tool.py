"""Describe the commands that both tools have. Pure."""

from __future__ import annotations

from ..options.shared import CodeOptions
from ..terminal.flags import Command

BUNDLE = Command(
    name="bundle",
    about="Upload this folder's code to the bucket or a registry, and print its identity and its place. No job is "
    "created.",
    module="bastion.cli.common.bundle_command",
    options=CodeOptions,
)
