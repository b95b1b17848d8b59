"""A real Docker engine and a real registry, started here as root and stopped by the same hand; and images from nothing.

The engine has a mount and a process namespace of its own: when it ends, nothing of it is left, neither a mount nor a
container. It has no network but the host's, so whoever builds or runs says `network_mode="host"`.
"""

from __future__ import annotations

import io
import re
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker

from tests.support.servers import answers, server

_PATIENCE_S = 180.0
_DOCUMENTATION = re.compile(r"/usr/share/(doc|info|lintian|locale|man)(/|$)")
_MERGED = [f"{top}/{name}" for top in ("/usr", "") for name in ("bin", "sbin", "lib", "lib64")]
"""Of /usr first: the others are links to them."""
_MADE = ("/etc/ld.so.cache", "/etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True, slots=True)
class Engine:
    """`address` is what DOCKER_HOST holds; `client` is docker-py's."""

    address: str
    client: Any


@contextmanager
def engine(folder: Path, hosts: Mapping[str, str] | None = None) -> Iterator[Engine]:
    """An engine that keeps its images in `folder`. For it, `hosts` have these addresses, whatever the network says."""
    names = folder / "hosts"
    named = "".join(f"{address} {name}\n" for name, address in (hosts or {}).items())
    names.write_text(Path("/etc/hosts").read_text() + named)
    with tempfile.TemporaryDirectory(prefix="docker-") as short:  # the path of a socket has room for 107 characters
        address = f"unix://{short}/socket"
        flags = f"""
            --data-root={folder}/data --exec-root={short}/exec --pidfile={short}/pid --host={address}
            --config-file={_empty(folder)} --bridge=none --iptables=false --ip6tables=false --ip-masq=false
            --shutdown-timeout=1 --log-level=warn"""
        argv = [
            "setpriv",
            "--pdeathsig=KILL",
            *"unshare --mount --pid --fork --kill-child --mount-proc /bin/sh -c".split(),
        ]
        script = f'mount --bind {names} /etc/hosts && exec dockerd "$@"'
        with (folder / "engine.log").open("ab") as log:
            process = subprocess.Popen([*argv, script, "dockerd", *flags.split()], stdin=-3, stdout=log, stderr=log)
        try:
            client = _client(address, process, folder / "engine.log")
            yield Engine(address, client)
            client.close()
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(folder / "data", ignore_errors=True)


def _empty(folder: Path) -> Path:
    """No settings of this machine's own engine."""
    (folder / "daemon.json").write_text("{}")
    return folder / "daemon.json"


def _client(address: str, process: subprocess.Popen[bytes], said: Path) -> Any:
    """Wait until the engine answers."""
    deadline = time.monotonic() + _PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as door:  # docker-py leaves one open that is refused
            door.connect(address.removeprefix("unix://"))
            return docker.DockerClient(base_url=address, timeout=600)
        time.sleep(0.05)
    raise AssertionError(f"no Docker engine comes up: {said.read_text()[-1000:]}")


@contextmanager
def registry(folder: Path) -> Iterator[str]:
    """`host:port` of a registry that anybody may push to."""
    argv = ["env", "REGISTRY_HTTP_ADDR=127.0.0.1:{port}", "docker-registry", "serve", str(_settings(folder))]
    with server(argv, "v2/", folder / "registry.log") as (address, _):
        yield address.removeprefix("http://")


@contextmanager
def registry_at(address: str, folder: Path, password: tuple[str, str]) -> Iterator[None]:
    """A registry at port 80 of an address of the loopback, for this user with this password alone."""
    user, word = password
    hashed = _said("perl", "-e", "print crypt($ARGV[0], $ARGV[1])", word, "$2b$04$" + "a" * 21 + "u")
    (folder / "htpasswd").write_text(f"{user}:{hashed}\n")
    auth = f"auth: {{htpasswd: {{realm: registry, path: {folder}/htpasswd}}}}\n"
    argv = ["env", f"REGISTRY_HTTP_ADDR={address}:80", "docker-registry", "serve", str(_settings(folder, auth))]
    with (folder / "registry.log").open("ab") as log:
        process = subprocess.Popen(argv, stdin=-3, stdout=log, stderr=log)
    try:
        assert answers(f"http://{address}/", process), (folder / "registry.log").read_text()[-1000:]
        yield
    finally:
        process.kill()
        process.wait()


def printed(engine: Engine, image: str, *command: str) -> str:
    """Run a container of an image to its end; what it printed."""
    container = engine.client.containers.run(image, list(command) or None, network_mode="host", detach=True)
    try:
        container.wait(timeout=180)
        return str(container.logs().decode())
    finally:
        container.remove(force=True)


def _settings(folder: Path, more: str = "") -> Path:
    storage = f"storage: {{filesystem: {{rootdirectory: {folder}/registry}}}}"
    config = folder / "registry.yml"
    config.write_text(f"version: 0.1\nlog: {{level: warn}}\n{storage}\nhttp: {{addr: '', secret: none}}\n{more}")
    return config


def base_image(client: Any, name: str, *packages: str, files: Mapping[str, Path] | None = None) -> str:
    """An image of this machine's own Debian packages: these, the essential ones, and what they need. Its id.

    Nothing is downloaded. `files` are laid beside them, folders whole.
    """
    with tempfile.NamedTemporaryFile() as packed:
        with tarfile.open(packed.name, mode="w") as archive:
            for path in _files_of(_closure(packages)):
                archive.add(path, recursive=False)
            for path, source in (files or {}).items():
                archive.add(source, arcname=path)
            for path, text in _accounts().items():
                member = tarfile.TarInfo(path)
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
        client.api.import_image_from_file(packed.name, repository=name, tag="latest")
    return str(client.images.get(name).id)


def _closure(packages: tuple[str, ...]) -> list[str]:
    """Packages with all that they depend on, by the first alternative that is installed."""
    form = r"${Package}\t${Essential}\t${Pre-Depends}, ${Depends}\t${Provides}\n"
    rows = [row.split("\t") for row in _said("dpkg-query", "-W", "-f", form).splitlines()]
    needs = {name: _names(wanted) for name, _, wanted, _ in rows}
    provided = {one: name for name, _, _, provides in rows for each in _names(provides) for one in each}
    ahead = [*packages, *(name for name, essential, *_ in rows if essential == "yes")]
    found: dict[str, None] = {}
    while ahead:
        name = ahead.pop()
        if name not in found:
            found[name] = None
            for others in needs[name]:
                here = (one if one in needs else provided.get(one) for one in others)
                ahead += [one for one in here if one][:1]
    return sorted(found)


def _names(text: str) -> list[list[str]]:
    wanted = (each.split("|") for each in text.split(","))
    return [[re.split(r"[ :(]", one.strip())[0] for one in each] for each in wanted if each[0].strip()]


def _files_of(packages: list[str]) -> list[str]:
    listed = _said("dpkg-query", "-L", *packages).splitlines()
    paths = dict.fromkeys([*_MERGED, *(line for line in listed if line.startswith("/") and line != "/."), *_MADE])
    there = (path for path in paths if not _DOCUMENTATION.match(path))
    return [path for path in there if Path(path).exists() or Path(path).is_symlink()]


def _accounts() -> dict[str, bytes]:
    """Those that every Debian has, none of this machine's own."""
    masters = {name: Path(f"/usr/share/base-passwd/{name}.master").read_bytes() for name in ("passwd", "group")}
    users = [line.partition(b":")[0] for line in masters["passwd"].splitlines()]
    shadow = b"".join(user + b":*:19000:0:99999:7:::\n" for user in users)
    return {"etc/passwd": masters["passwd"], "etc/group": masters["group"], "etc/shadow": shadow}


def _said(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
