"""How one gets to a machine in Google's clouds: the command line of gcloud, through Google's own tunnel. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from bastion.model.errors import BastionError, UsageError

PORT_MAX = 65_535
FORWARDS_MAX = 32

TPU, GCE = "tpu", "gce"
RUNNERS = (TPU, GCE)
"""The runners whose machines gcloud leads to."""

_WORD = r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
_MACHINE = re.compile(rf"(?P<zone>{_WORD})/(?P<name>{_WORD})/[0-9a-f]{{32}}/(?P<host>[0-9]{{1,5}})")
"""As these runners call a machine, and nothing else: it comes to us as the word of a worker."""

_SLICE = re.compile(r"(.+-[0-9a-f]{14})(?:-([0-9]{1,4}))?")
"""A node is called as its queued resource, and one of several has its number behind that."""

_FORWARD = re.compile(r"([0-9]{1,5})(?::([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Forward:
    """A port of this computer, and the one of the machine that it leads to."""

    here: int
    there: int

    @property
    def option(self) -> str:
        """As ssh has it: to what listens on the machine's own loopback."""
        return f"{self.here}:localhost:{self.there}"


def forwards(texts: Sequence[str]) -> list[Forward]:
    """What `8080` and `8080:9090` say. Raises `UsageError`."""
    found = [_forward(text) for text in texts]
    ports = [one.here for one in found]
    if twice := [port for port in ports if ports.count(port) > 1]:
        raise UsageError(
            f"--forward says port {twice[0]} of this computer twice; give each its own, as in 8081:{twice[0]}"
        )
    if len(found) > FORWARDS_MAX:
        raise UsageError(f"--forward is said {len(found)} times; {FORWARDS_MAX} are the most")
    return found


def _forward(text: str) -> Forward:
    match = _FORWARD.fullmatch(text)
    ports = [int(port) for port in match.groups() if port] if match else []
    if not ports or not all(0 < port <= PORT_MAX for port in ports):
        raise UsageError(f"--forward is {text[:40]!r}; use PORT, or HERE:THERE, as in 8080:9090")
    return Forward(ports[0], ports[-1])


def gcloud(runner: str, machine: str, project: str, command: Sequence[str], forwarded: Sequence[Forward]) -> list[str]:
    """The command line that leads to a machine of a runner in `RUNNERS`. Without a command: a shell there.

    Raises `BastionError` for a machine's id, which a worker has written, that no runner of ours gives.
    """
    found = _MACHINE.fullmatch(machine)
    kind = (_slice(found["name"], found["host"]) if runner == TPU else ["ssh", found["name"]]) if found else []
    if not found or not kind:
        raise BastionError(
            f"its worker says that it is on {machine[:100]!r}, which is no machine of ours; see launch why"
        )
    where = [f"--zone={found['zone']}", f"--project={project}", "--tunnel-through-iap"]
    told = [f"--command={shlex.join(command)}"] if command else []
    ssh = [word for one in forwarded for word in ("-L", one.option)]
    return ["gcloud", "compute", *kind, *where, *told, *(["--", *ssh] if ssh else [])]


def _slice(node: str, host: str) -> list[str]:
    """By its queued resource, for `tpus tpu-vm ssh` of gcloud knows no tunnel. Empty for what is no slice of ours."""
    match = _SLICE.fullmatch(node)
    return ["tpus", "queued-resources", "ssh", match[1], f"--node={match[2] or 0}", f"--worker={host}"] if match else []
