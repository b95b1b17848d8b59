"""`bastion unit`: the systemd unit that keeps a bastion alive. `bastion create --systemd` installs it."""

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

from ..common.place import BastionPlace, known_place_of
from ..terminal.main import DONE, Call

SYSTEM = Path("/etc/systemd/system")
OF_THE_UNIT = frozenset({"NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID"})
"""Variables by which systemd knows a process: none of a job's."""

_KEPT = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_DIRS")
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@+-]+")
_UP_S, _LOOK_S, _SYSTEMCTL_S = 60.0, 0.1, 120.0


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: its `name`, the `file` it belongs in, its `text`, and `user`: it is of this account's own systemd, not of the
    machine's.
    """

    name: str
    file: Path
    text: str
    user: bool

    def systemctl(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Ask systemd. Raises `UsageError` where there is no systemctl."""
        program = shutil.which("systemctl")
        if program is None:
            raise UsageError(
                f"this machine has no systemctl; bastion unit prints the unit, which belongs in {self.file}"
            )
        argv = [program, *(["--user"] if self.user else []), *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=_SYSTEMCTL_S, check=False)


def run(call: Call) -> int:
    """Print the unit."""
    made = unit(known_place_of(call), call.environ)
    if call.output.json:
        call.output.data({"schema": 1, "name": made.name, "file": str(made.file), "text": made.text})
    else:
        call.output.say(made.text.rstrip("\n"))
    return DONE


def unit(place: BastionPlace, environ: Mapping[str, str]) -> Unit:
    """That of a bastion that runs on this machine, as this account: of the machine's systemd if it is root's."""
    name, is_root = f"bastion-{place.name}.service", os.geteuid() == 0
    folder = SYSTEM if is_root else config_folder(environ).parent / "systemd" / "user"
    start = [sys.executable, "-I", "-m", "bastion", "bastion", "start", "--here", *place.flags()]
    return Unit(name, folder / name, _text(place, start, environ, is_root), not is_root)


def check(place: BastionPlace, made: Unit, *, is_up: bool) -> None:
    """Raise `UsageError` if this unit cannot take over: another has its name, or the bastion runs without it; or for want of
    systemd.
    """
    is_active = made.systemctl("is-active", "--quiet", made.name).returncode == 0
    if made.file.exists() and f" {place.flags()[1]}\n" not in made.file.read_text("utf-8", "replace").replace('"', ""):
        raise UsageError(f"{made.file} starts another bastion; remove it, or choose another --name")
    if is_up and not is_active:
        raise UsageError(f"bastion {place.name} runs in the background, and not by systemd; first: bastion stop")


def install(place: BastionPlace, made: Unit, clock: Clock) -> None:
    """Write the unit, enable and start it; return when the bastion ticks. Raises `BastionError` if it does not."""
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
    while not place.is_up(clock):
        if clock.monotonic() > deadline:
            raise BastionError(f"bastion {place.name} did not come up by its unit; see journalctl --unit={made.name}")
        clock.sleep(_LOOK_S)


def notify(environ: Mapping[str, str], word: str) -> None:
    """Tell systemd, if it started us, as `READY=1`. Source: sd_notify(3)."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
        way.connect(f"\0{address[1:]}" if address.startswith("@") else address)
        way.send(word.encode())


def _text(place: BastionPlace, start: Sequence[str], environ: Mapping[str, str], is_root: bool) -> str:
    """Jobs outlive the bastion: only its own process is stopped (KillMode). Their control groups are made below the unit's own
    (Delegate). A bastion that was stopped by `bastion stop` stays stopped (Restart).
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
        *([f"User={name_of(0)}"] if is_root else []),  # sets HOME, too
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
    """One word of a command line of a unit: no variable of it is filled in."""
    return _quoted(word.replace("$", "$$"))


def _quoted(text: str) -> str:
    """One value of a unit's line: no space, backslash or specifier of it means anything to systemd."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return escaped if _PLAIN.fullmatch(text) else f'"{escaped}"'
