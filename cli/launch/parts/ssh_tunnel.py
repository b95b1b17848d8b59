"""Build the gcloud command line to a machine in Google's cloud, through Google's own tunnel. Pure."""

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
"""The runners with machines that gcloud can reach."""

_WORD = r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
_MACHINE = re.compile(rf"(?P<zone>{_WORD})/(?P<name>{_WORD})/[0-9a-f]{{32}}/(?P<host>[0-9]{{1,5}})")
"""The exact form of a machine's id from these runners. It is checked because a worker has written it."""

_SLICE = re.compile(r"(.+-[0-9a-f]{14})(?:-([0-9]{1,4}))?")
"""The form of a node's name: its queued resource, and for one of several nodes also its number."""

_FORWARD = re.compile(r"([0-9]{1,5})(?::([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class PortForward:
    """A forwarded port.

    here: the port of this computer.
    there: the port of the machine that it leads to.
    """

    here: int
    there: int

    @property
    def option(self) -> str:
        """Return the option of ssh: it leads to the machine's own loopback."""
        return f"{self.here}:localhost:{self.there}"


def forwards(texts: Sequence[str]) -> list[PortForward]:
    """Parse `8080` and `8080:9090`. Raises `UsageError`."""
    found = [_forward(text) for text in texts]
    ports = [one.here for one in found]
    if twice := [port for port in ports if ports.count(port) > 1]:
        raise UsageError(
            f"--forward names port {twice[0]} of this computer twice; use a different port for each, as in 8081:{twice[0]}"
        )
    if len(found) > FORWARDS_MAX:
        raise UsageError(f"--forward is given {len(found)} times; use it at most {FORWARDS_MAX} times")
    return found


def _forward(text: str) -> PortForward:
    match = _FORWARD.fullmatch(text)
    ports = [int(port) for port in match.groups() if port] if match else []
    if not ports or not all(0 < port <= PORT_MAX for port in ports):
        raise UsageError(f"--forward is {text[:40]!r}; use PORT, or HERE:THERE, as in 8080:9090")
    return PortForward(ports[0], ports[-1])


def gcloud(
    runner: str, machine: str, project: str, command: Sequence[str], forwarded: Sequence[PortForward]
) -> list[str]:
    """Return the command line that leads to a machine of a runner in `RUNNERS`. Without a command, it opens a shell.

    A worker has written the machine's id. Raises `BastionError` if our runners give no such id.
    """
    found = _MACHINE.fullmatch(machine)
    kind = (_slice(found["name"], found["host"]) if runner == TPU else ["ssh", found["name"]]) if found else []
    if not found or not kind:
        raise BastionError(
            f"the worker reports the machine {machine[:100]!r}, which is no machine of Bastion; see launch why"
        )
    where = [f"--zone={found['zone']}", f"--project={project}", "--tunnel-through-iap"]
    told = [f"--command={shlex.join(command)}"] if command else []
    ssh = [word for one in forwarded for word in ("-L", one.option)]
    return ["gcloud", "compute", *kind, *where, *told, *(["--", *ssh] if ssh else [])]


def _slice(node: str, host: str) -> list[str]:
    """Name the node by its queued resource: `tpus tpu-vm ssh` of gcloud has no tunnel.

    Empty if it is not one of our slices.
    """
    match = _SLICE.fullmatch(node)
    return ["tpus", "queued-resources", "ssh", match[1], f"--node={match[2] or 0}", f"--worker={host}"] if match else []
