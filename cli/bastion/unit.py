"""`bastion unit`: print the systemd unit that keeps a bastion alive. `bastion create --systemd` installs it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bastion.model.errors import BastionError, UsageError
from bastion.model.interfaces import Clock
from bastion.platform.local_paths import config_folder
from bastion.runners.worker.linux.unix_account import name_of

from ..common.bastion_alive import is_up
from ..common.place import BastionPlace, known_place_of
from ..terminal.flags import Options
from ..terminal.main import DONE, Call

SYSTEM = Path("/etc/systemd/system")
OF_THE_UNIT = frozenset({"NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID"})
"""Variables that tie a process to its systemd unit. No job may get them."""

_KEPT = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_DIRS")
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@+-]+")
_UP_S, _LOOK_S, _SYSTEMCTL_S = 60.0, 0.1, 120.0


@dataclass(frozen=True, slots=True)
class Unit:
    """A systemd unit.

    name: its name.
    file: the file that it belongs in.
    text: the content of the file.
    user: whether it belongs to this account's own systemd, not to the machine's.
    """

    name: str
    file: Path
    text: str
    user: bool

    def systemctl(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run systemctl. Raises `UsageError` if this machine has none."""
        program = shutil.which("systemctl")
        if program is None:
            raise UsageError(
                f"this machine has no systemctl; bastion unit prints the unit, which belongs in {self.file}"
            )
        argv = [program, *(["--user"] if self.user else []), *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=_SYSTEMCTL_S, check=False)


def run(call: Call[Options]) -> int:
    """Print the unit."""
    made = unit(known_place_of(call), call.environ)
    if call.output.json:
        call.output.data({"schema": 1, "name": made.name, "file": str(made.file), "text": made.text})
    else:
        call.output.say(made.text.rstrip("\n"))
    return DONE


def unit(place: BastionPlace, environ: Mapping[str, str]) -> Unit:
    """Return the unit of a bastion on this machine, as this account. For root, it belongs to the machine's systemd."""
    name, is_root = f"bastion-{place.name}.service", os.geteuid() == 0
    folder = SYSTEM if is_root else config_folder(environ).parent / "systemd" / "user"
    start = [sys.executable, "-I", "-m", "bastion", "bastion", "start", "--here", *place.flags()]
    return Unit(name, folder / name, _text(place, start, environ, is_root), not is_root)


def check(place: BastionPlace, made: Unit, *, is_up: bool) -> None:
    """Raise `UsageError` if this unit cannot take over.

    Another unit may have its name, the bastion may run without it, or systemd may be missing.
    """
    is_active = made.systemctl("is-active", "--quiet", made.name).returncode == 0
    if made.file.exists() and f" {place.flags()[1]}\n" not in made.file.read_text("utf-8", "replace").replace('"', ""):
        raise UsageError(f"{made.file} starts another bastion; remove it, or choose another --name")
    if is_up and not is_active:
        raise UsageError(f"bastion {place.name} runs in the background, not under systemd; run bastion stop first")


def install(place: BastionPlace, made: Unit, clock: Clock) -> None:
    """Write the unit, enable and start it, and return when the bastion ticks. Raises `BastionError` if it does not."""
    made.file.parent.mkdir(parents=True, exist_ok=True)
    new = made.file.with_name(f".{made.name}.new")
    new.write_text(made.text)
    new.replace(made.file)
    for words in (["daemon-reload"], ["enable", "--now", made.name]):
        said = made.systemctl(*words)
        if said.returncode != 0:
            why = " | ".join(f"{said.stdout}{said.stderr}".split("\n")[:5]).strip(" |")
            raise BastionError(f"systemctl {' '.join(words)} failed: {why or f'exit code {said.returncode}'}")
    deadline = clock.monotonic() + _UP_S
    while not is_up(place, clock):
        if clock.monotonic() > deadline:
            raise BastionError(f"bastion {place.name} did not start from its unit; see journalctl --unit={made.name}")
        clock.sleep(_LOOK_S)


def notify(environ: Mapping[str, str], word: str) -> None:
    """Send a word such as `READY=1` to systemd, if systemd started us. Source: sd_notify(3)."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
        way.connect(f"\0{address[1:]}" if address.startswith("@") else address)
        way.send(word.encode())


def _text(place: BastionPlace, start: Sequence[str], environ: Mapping[str, str], is_root: bool) -> str:
    """Return the text of the unit.

    Jobs outlive the bastion: only its own process is stopped (KillMode). The jobs' control groups are made below the
    unit's own (Delegate). A bastion that `bastion stop` has stopped stays stopped (Restart).
    """
    variables = [f"Environment={_quoted(f'{name}={environ[name]}')}" for name in _KEPT if environ.get(name)]
    lines = [
        "[Unit]",
        f"Description=Bastion {place.name}, a job scheduler",
        "Wants=network-online.target",
        "After=network-online.target",
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        "Type=notify",
        f"ExecStart={' '.join(map(_word, start))}",
        *([f"User={name_of(0)}"] if is_root else []),  # systemd then sets HOME, too
        *variables,
        "Restart=on-failure",
        "RestartSec=5",
        "KillMode=process",
        "Delegate=yes",
        "TimeoutStopSec=90",
        "",
        "[Install]",
        f"WantedBy={'multi-user' if is_root else 'default'}.target",
    ]
    return "\n".join(lines) + "\n"


def _word(word: str) -> str:
    """Return one word of a unit's command line, with `$` escaped: systemd would fill in variables."""
    return _quoted(word.replace("$", "$$"))


def _quoted(text: str) -> str:
    """Return one value of a unit's line, escaped so that spaces, backslashes and `%` mean nothing to systemd."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return escaped if _PLAIN.fullmatch(text) else f'"{escaped}"'
