"""What a worker finds out in its pod. Pure."""

from __future__ import annotations

from collections.abc import Mapping

KUBERNETES = "kubernetes"
_OF_THE_POD = ("BASTION_", "JOB_COMPLETION_INDEX", "KUBERNETES_")


def flags(told: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The flags that only the pod knows: which worker it is, of which machine, at which address.

    Raises `KeyError` for a pod that is not as it was asked for, `ValueError` for one that is not numbered.
    """
    group = int(environ.get("BASTION_GROUP") or 0)
    return {
        "worker": str(group * int(told["hosts"]) + int(environ["JOB_COMPLETION_INDEX"])),
        "machine": environ["BASTION_MACHINE"],
        "address": environ["BASTION_POD_IP"],
    }


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """What jobs find of the variables of our container: those of its image, and what its template adds."""
    return {name: value for name, value in environ.items() if not name.startswith(_OF_THE_POD)}
