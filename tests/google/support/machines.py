"""The machines of the fake: real processes, each machine in namespaces of its own, with a metadata server, and no internet.

A machine is a `Bare` root folder, which stays while the machine is stopped; a process namespace, so that all its
processes end with it; a network namespace, plugged into a switch that lies in a namespace of its own, so that the
machines of one room reach each other by the addresses that the API tells, and nothing of this is seen on the host. The
host's servers that machines may use, those of the loopback that are named in their environment, are at the same
addresses there.

Needs root: what cannot be made, fails.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from tests.google.fake.cloud import Guest
from tests.google.support.bare import APART, METADATA, Bare, Listen
from tests.google.support.metadata import Metadata
from tests.google.support.relay import relayed

Environ = Callable[[str], Mapping[str, str]]
Prepare = Callable[[Bare, Guest], None]

_LOOPBACK = re.compile(r"//127\.0\.0\.1:(\d+)")
_HOSTS = f"127.0.0.1 localhost\n{METADATA} metadata.google.internal metadata\n"
# The first process of a machine runs its script, and then goes on to bury those who have nobody else to do it. When the
# power button is pressed, it tells its children to end, as a system does with its services, and ends when none is left;
# a script that has not ended is let end.
_FIRST = r"""
off() {
    told=" "
    while read -r left </proc/1/task/1/children; [ -n "$left" ]; do
        for each in $left; do
            case $told in *" $each "*) ;; *) kill -TERM "$each" 2>/dev/null; told="$told$each " ;; esac
        done
        /bin/busybox sleep 0.05
    done
    exit 0
}
trap off TERM
{ trap : TERM; /bin/sh /start; echo "startup-script exit status $?"; } & wait $!
while :; do /bin/busybox sleep 3600 & wait; done
"""
_SWITCH = "ip link add switch type bridge && ip link set switch up && echo up && read -r end"
_CONSOLE_MOST = 1 << 20


@dataclass(slots=True)
class Machine:
    """One machine: what it was made for, its disk, what its metadata say, what its serial port said."""

    guest: Guest
    bare: Bare
    metadata: Metadata
    console: bytearray = field(default_factory=bytearray)
    stack: ExitStack = field(default_factory=ExitStack)
    process: subprocess.Popen[str] | None = None
    error: BaseException | None = None

    @property
    def root(self) -> Path:
        """Its root folder, as the host sees it."""
        return self.bare.root

    @property
    def said(self) -> str:
        """The console's text so far."""
        return self.console.decode(errors="replace")

    @property
    def runs(self) -> bool:
        """It is switched on."""
        return self.process is not None and self.process.poll() is None

    def run(self, command: str) -> str:
        """What a shell command prints on the machine. Raises `subprocess.CalledProcessError`."""
        enter = [
            "nsenter",
            "-t",
            str(self._first()),
            "--net",
            "--mount",
            "--pid",
            "chroot",
            str(self.root),
            "/bin/env",
            "-i",
        ]
        words = ["PATH=/usr/bin:/bin", "/bin/sh", "-c", command]
        done = subprocess.run([*enter, *words], capture_output=True, text=True, check=True, timeout=180)
        return done.stdout

    def press_power_button(self) -> None:
        """Have its system end, if it is up."""
        with suppress(IndexError, OSError):
            os.kill(self._first(), signal.SIGTERM)

    def _first(self) -> int:
        """The first of its processes, as the host numbers them."""
        assert self.process
        return int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])


class Room:
    """All machines of one fake, in `folder`. `prepare` may add files and programs to one before its first start.

    What it is asked for is done in the order in which it is asked, by one thread.
    """

    def __init__(self, folder: Path, prepare: Prepare = lambda bare, guest: None) -> None:
        self._folder, self._prepare = folder, prepare
        self._lock = Lock()
        self._machines: dict[str, dict[int, Machine]] = {}
        self._plugs = 0

    def open(self, environ: Environ, token: Callable[[str], str]) -> None:
        """Be ready. `environ` answers the environment of an account's machine, `token` its access token."""
        self._environ, self._token = environ, token
        self._work = ThreadPoolExecutor(1, thread_name_prefix="machines")
        apart = [*APART, "sh", "-c", _SWITCH]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self._switch = self._work.submit(subprocess.Popen, apart, text=True, **pipes).result()
        assert self._switch.stdout
        said = self._switch.stdout.readline()
        assert said == "up\n", (
            f"no namespace can be made for the machines of the fake: {said}{self._switch.stdout.read()}"
        )

    def close(self) -> None:
        """End all machines. Raises what went wrong with any."""
        for resource in list(self._machines):
            self.stop(resource, erase=False)
        self._work.shutdown()
        with self._switch:
            self._switch.kill()
        errors = [one.error for hosts in self._machines.values() for one in hosts.values() if one.error]
        if errors:
            raise errors[0]

    # What the fake asks for

    def start(self, guest: Guest) -> None:
        """Boot it."""
        with self._lock:
            hosts = self._machines.setdefault(guest.resource, {})
            machine = hosts.get(guest.number)
            if machine is None:
                machine = Machine(guest, Bare(self._root(guest)), Metadata({}))
                hosts[guest.number] = machine
                self._prepare(machine.bare, guest)
            machine.guest, machine.metadata = guest, self._metadata(guest)
        self._work.submit(self._boot, machine)

    def shut_down(self, resource: str) -> None:
        """Press the power button of all its hosts."""
        for machine in self._hosts(resource):
            self._work.submit(machine.press_power_button)

    def runs(self, resource: str) -> bool:
        """One of its hosts is switched on."""
        return any(machine.runs for machine in self._hosts(resource))

    def stop(self, resource: str, *, erase: bool) -> None:
        """End all its hosts."""
        with self._lock:
            hosts = list((self._machines.pop(resource, {}) if erase else self._machines.get(resource, {})).values())
        self._work.submit(lambda: [_end(machine) for machine in hosts]).result()

    def notice(self, resource: str, key: str, value: str) -> None:
        """Its hosts' metadata say something new."""
        for machine in self._machines.get(resource, {}).values():
            machine.metadata.change(**{key: value})

    def attributes(self, resource: str, attributes: Mapping[str, str]) -> None:
        """Its hosts' metadata are set anew."""
        for machine in self._machines.get(resource, {}).values():
            machine.metadata.change(attributes=dict(attributes))

    def output(self, resource: str) -> str:
        """What the first host's serial port said."""
        hosts = self._machines.get(resource, {})
        return hosts[0].said if 0 in hosts else ""

    # What a test asks for

    def all(self) -> list[Machine]:
        """The machines that were not erased, by resource and number."""
        with self._lock:
            return [hosts[n] for _, hosts in sorted(self._machines.items()) for n in sorted(hosts)]

    def one(self, name: str) -> Machine:
        """The machine of this name: that of its resource, a hyphen, its number."""
        (found,) = [machine for machine in self.all() if machine.guest.name == name]
        return found

    def settle(self) -> None:
        """Return when all that was asked for so far has been done. Raises what went wrong."""
        self._work.submit(lambda: None).result()
        for machine in self.all():
            if machine.error:
                raise machine.error

    def _hosts(self, resource: str) -> list[Machine]:
        with self._lock:
            return list(self._machines.get(resource, {}).values())

    def _root(self, guest: Guest) -> Path:
        return self._folder / "machines" / f"{guest.name}-{guest.id}"

    def _metadata(self, guest: Guest) -> Metadata:
        email = guest.account
        scopes = list(guest.scopes) or ["https://www.googleapis.com/auth/cloud-platform"]
        account = {"email": email, "aliases": ["default"], "scopes": scopes}
        return Metadata(
            guest.attributes,
            name=guest.hostname,
            ip=guest.address,
            token=lambda: self._token(email),
            id=int(guest.id),
            hostname=f"{guest.hostname}.{guest.zone}.c.{guest.resource.split('/')[1]}.internal",
            project=guest.resource.split("/")[1],
            zone=f"projects/1/zones/{guest.zone}",
            serviceAccounts={"default": account, email: account} if email else {},
        )

    def _boot(self, machine: Machine) -> None:
        try:
            self._try_to_boot(machine)
        except BaseException as error:
            machine.error = error

    def _try_to_boot(self, machine: Machine) -> None:
        guest, root = machine.guest, machine.root
        (root / "start").write_text(guest.attributes.get("startup-script", ""))
        (root / "etc/hosts").write_text(_HOSTS)
        (root / "etc/nsswitch.conf").write_text("hosts: files\n")
        (root / "etc/hostname").write_text(f"{guest.hostname}\n")
        environ = self._environ(guest.account)

        def serve(listen: Listen) -> None:
            machine.stack.enter_context(machine.metadata.served(listen(METADATA, 80)))
            for port in sorted({int(port) for value in environ.values() for port in _LOOPBACK.findall(value)}):
                machine.stack.enter_context(relayed(listen("127.0.0.1", port), port))
            self._plug(machine)

        readers: list[Thread] = []
        machine.stack.callback(lambda: [reader.join() for reader in readers])
        script = f"/bin/busybox hostname {guest.hostname} 2>/dev/null; {_FIRST}"
        machine.process = machine.stack.enter_context(machine.bare.running(script, serve, environ))
        assert machine.process.stdout
        said = os.dup(machine.process.stdout.fileno())  # our own: the pipe is closed before its last word is read
        readers.append(Thread(target=_read, args=(said, machine.console), daemon=True))
        readers[0].start()

    def _plug(self, machine: Machine) -> None:
        """Plug the machine's network into the switch."""
        self._plugs += 1
        switch, port = str(self._switch.pid), f"port{self._plugs}"
        pid = str(machine.bare.pid)
        commands = f"link add {port} type veth peer name eth0 netns {pid}\nlink set {port} master switch up\n"
        own = f"addr add {machine.guest.address}/8 dev eth0\nlink set eth0 up\n"
        for where, text in ((switch, commands), (pid, own)):
            enter = ["nsenter", "-t", where, "--net", "ip", "-batch", "-"]
            subprocess.run(enter, input=text, text=True, check=True, capture_output=True, timeout=180)


def _end(machine: Machine) -> None:
    machine.stack.close()
    machine.stack, machine.process = ExitStack(), None


def _read(said: int, console: bytearray) -> None:
    """Keep what the console says, the newest of it."""
    with open(said, "rb", buffering=0) as pipe:
        while data := pipe.read(65536):
            console += data
            del console[:-_CONSOLE_MOST]
