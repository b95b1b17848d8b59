"""Names of what an attempt has in Google's clouds, and labels that say to which bastion and attempt it belongs. Pure.

A name is made from the attempt alone, so Google refuses a second request for the same machines. The labels are set at
creation. The `nonce` is different at every creation, so no machine's id comes twice.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from bastion.model.interfaces import AttemptKey

_SLUG_MAX = 24
_LABEL_MAX = 63
_NONCE = re.compile(r"[0-9a-f]{32}")
_NUMBER = re.compile(r"[0-9]{1,9}")
_ID = re.compile(r"([a-z0-9-]{3,40})/([A-Za-z0-9-]{1,63})/([0-9a-f]{32})/([0-9]{1,5})")
_JOB_LABELS = ("job", "job-2", "job-3")


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleLabels:
    """The owner of something in Google's clouds, as its labels say.

    scope: the bastion.
    key: the attempt that it was made for.
    epoch: the start of the bastion that made it.
    nonce: 32 hexadecimal digits, different at every creation.
    """

    scope: str
    key: AttemptKey
    epoch: int
    nonce: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleHost:
    """One machine: a host of a slice, or a VM.

    zone: its zone.
    name: the name of the slice or VM.
    nonce: the nonce of its creation.
    host: its number in the slice, from 0; a VM is number 0.
    """

    zone: str
    name: str
    nonce: str
    host: int

    def __str__(self) -> str:
        return f"{self.zone}/{self.name}/{self.nonce}/{self.host}"


def name(scope: str, key: AttemptKey) -> str:
    """Return the name of an attempt's machines: always the same, and no other attempt's. At most 40 characters."""
    slug = re.sub(r"[^a-z0-9]+", "-", key.job.rpartition("-")[0].lower())[:_SLUG_MAX].strip("-")
    slug = slug if slug[:1].isalpha() else f"j{slug}"[:_SLUG_MAX].rstrip("-")
    return f"{slug}-{hashlib.sha256(f'{scope} {key}'.encode()).hexdigest()[:14]}"


def labels(mark: GoogleLabels) -> dict[str, str]:
    """Return the labels that contain a mark."""
    job = encoded(mark.key.job)
    parts = [job[at : at + _LABEL_MAX] for at in range(0, len(job), _LABEL_MAX)]
    return {
        "bastion": encoded(mark.scope),
        **dict(zip(_JOB_LABELS, parts, strict=False)),
        "task": str(mark.key.task),
        "attempt": str(mark.key.attempt),
        "epoch": str(mark.epoch),
        "nonce": mark.nonce,
    }


def mark_of(labels: Mapping[str, str]) -> GoogleLabels | None:
    """Return the mark in labels; None if they contain none, or not all of it in our form."""
    numbers = [labels.get(name, "") for name in ("task", "attempt", "epoch")]
    job = decoded("".join(labels.get(name, "") for name in _JOB_LABELS))
    nonce, scope = labels.get("nonce", ""), decoded(labels.get("bastion", ""))
    if not (job and scope and _NONCE.fullmatch(nonce) and all(map(_NUMBER.fullmatch, numbers))):
        return None
    task, attempt, epoch = map(int, numbers)
    return GoogleLabels(scope=scope, key=AttemptKey(job, task, attempt), epoch=epoch, nonce=nonce)


def host_of(machine: str) -> GoogleHost | None:
    """Return the host that a machine's id names; None if it is no id of ours."""
    match = _ID.fullmatch(machine)
    return GoogleHost(zone=match[1], name=match[2], nonce=match[3], host=int(match[4])) if match else None


def is_of(host: GoogleHost, scope: str, key: AttemptKey) -> bool:
    """True if a host's name is that of an attempt's machines, or of one of several."""
    return re.fullmatch(rf"{re.escape(name(scope, key))}(-[0-9]{{1,5}})?", host.name) is not None


def encoded(text: str) -> str:
    """Encode a name for a label: small letters, digits, `-` and `_`. `decoded` returns the same name."""
    return re.sub(r"[A-Z._]", lambda found: "_" + {".": "-", "_": "_"}.get(found[0], found[0].lower()), text)


def decoded(label: str) -> str:
    """Decode what `encoded` made."""
    return re.sub(r"_(.)", lambda found: {"-": ".", "_": "_"}.get(found[1], found[1].upper()), label)
