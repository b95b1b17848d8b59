"""Instance types to amounts: `tpu-v4-32` is 32 units of `v4`, `gpu-h100-8` is 8 of `h100`. Pure."""

from __future__ import annotations

import re

from bastion.errors import SpecError
from bastion.nearest import did_you_mean
from bastion.spec import AMOUNT_MAX

KINDS = {
    "tpu": ("v2", "v3", "v4", "v5litepod", "v5p", "v6e", "7x"),
    "gpu": ("a100", "b200", "gb200", "h100", "h200", "l4", "l40s", "t4", "v100"),
}
"""The accelerators that instance types are made of; a TPU's number is the one of its type's name, not of its chips."""

_TYPE = re.compile(r"(tpu|gpu)-([a-z0-9]+)-([1-9][0-9]{0,6})")
_OTHER_NAMES = {"v5e": "v5litepod", "v5lite": "v5litepod", "v7x": "7x"}


def resources(instance_type: str) -> dict[str, int]:
    """What one replica of this type holds. Raises `SpecError` naming the nearest valid type."""
    match = _TYPE.fullmatch(instance_type)
    if not match or match[2] not in KINDS[match[1]] or int(match[3]) > AMOUNT_MAX:
        raise SpecError(f"instance_type is {instance_type[:64]!r}; {_advice(instance_type[:64])}")
    return {match[2]: int(match[3])}


def _advice(wrong: str) -> str:
    """The nearest type, with the number that was asked for."""
    stem, _, number = wrong.lower().rpartition("-")
    if not number.isdigit():
        stem, number = wrong.lower(), "8"
    family, _, kind = stem.rpartition("-")
    stem = f"{family}-{_OTHER_NAMES.get(kind, kind)}" if family else stem
    return did_you_mean(
        f"{stem}-{number}",
        [f"{family}-{kind}-{number}" for family, kinds in KINDS.items() for kind in kinds],
        "use tpu-KIND-N or gpu-KIND-N, as in tpu-v4-32 or gpu-h100-8",
    )
