"""Which bastion, in which bucket: from flags or the environment. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bastion.errors import UsageError
from bastion.spec import NAME, shown


@dataclass(frozen=True, slots=True)
class Settings:
    """What every command needs to know."""

    bastion: str
    bucket: str


def settings(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """Flags win over the environment. Raises `UsageError`."""
    bastion = flags["bastion"] or environ.get("BASTION_NAME")
    bucket = flags["bucket"] or environ.get("BASTION_BUCKET")
    if not bastion:
        raise UsageError("no bastion is named; use --bastion=NAME or set BASTION_NAME")
    if not bucket:
        raise UsageError("no bucket is named; use --bucket=URL (file:///path, gs://name) or set BASTION_BUCKET")
    if not NAME.fullmatch(bastion) or ".." in bastion:
        raise UsageError(f"the bastion's name is {shown(bastion)}; use 1 to 63 letters, digits, '.', '_' and '-'")
    return Settings(bastion, bucket)
