"""The Docker engine of this machine, through docker-py: build, push, and look up a tag."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from bastion.model.errors import BundleError, UsageError
from bastion.model.job.image_ref import split

from .recipe import Recipe

Say = Callable[[str], None]
Login = Mapping[str, str]
"""The `username` and `password` of a registry; empty: what `docker login` has stored."""

SILENT_S = 3600
"""The most seconds that the engine may be silent, as it is while a step compiles."""

USUAL = "unix:///var/run/docker.sock"
_MISSING = "images need the package docker: pip install 'bastion-scheduler[docker]'"
_TAIL = 3


class DockerEngine:
    """The engine that `DOCKER_HOST` and the related variables of the environment name."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)

    def build(self, folder: Path, recipe: Recipe, say: Say) -> str:
        """Build an image from a folder. Return its id. Raises `BundleError` with the last lines of the engine."""
        for image in recipe.cache_from:
            self._pull(image, say)
        asked = {
            "path": str(folder),
            "dockerfile": recipe.dockerfile,
            "target": recipe.target,
            "platform": recipe.platform or None,
            "buildargs": dict(recipe.args),
            "cache_from": list(recipe.cache_from),
        }
        said = self._say(lambda api: api.build(**asked, rm=True, forcerm=True, decode=True), say, f"building {folder}")
        made = next((item["aux"]["ID"] for item in reversed(said) if "ID" in (item.get("aux") or {})), "")
        if not made:
            raise BundleError(f"building {folder} made no image; read the engine's output above")
        return str(made)

    def _pull(self, image: str, say: Say) -> None:
        """Pull an image, because the engine takes layers only from images that it has. A failure is only reported."""
        try:
            name, tag = split(image)
            self._say(lambda api: api.pull(name, tag or "latest", stream=True, decode=True), say, f"pulling {image}")
        except BundleError as error:
            say(f"no layer of {image} is reused: {error}")

    def push(self, image: str, name: str, tag: str, login: Login, say: Say) -> str:
        """Push an image under this name. Return the digest of its manifest, in hexadecimal. Raises `BundleError`."""
        self._ask(lambda api: api.tag(image, name, tag), f"naming {name}")
        auth = dict(login) or None
        said = self._say(
            lambda api: api.push(name, tag, stream=True, decode=True, auth_config=auth), say, f"pushing {name}"
        )
        pushed = next((item["aux"]["Digest"] for item in reversed(said) if "Digest" in (item.get("aux") or {})), "")
        return _hexadecimal(pushed, name)

    def digest(self, name: str, tag: str, login: Login) -> str:
        """Return the digest that a tag has in its registry now, in hexadecimal. Raises `BundleError`."""
        auth = dict(login) or None
        told = self._ask(lambda api: api.inspect_distribution(f"{name}:{tag}", auth), f"looking for {name}:{tag}")
        return _hexadecimal(told.get("Descriptor", {}).get("digest", ""), name)

    def _say(self, work: Callable[[Any], Iterable[dict[str, Any]]], say: Say, doing: str) -> list[dict[str, Any]]:
        """Run `work`, pass each new line to `say`, and return all messages of the engine.

        Raises `BundleError` if the engine reports an error.
        """
        said: list[dict[str, Any]] = []
        told: list[str] = []
        wrong: list[str] = []

        def listen(api: Any) -> None:
            for item in work(api):
                said.append(item)
                if item.get("error"):  # the rest is read all the same, so that the connection is free again
                    wrong.append(_refusal(doing, str(item["error"]), " | ".join(told[-_TAIL:])))
                for line in _lines(item):
                    if line not in told[-50:]:
                        told.append(line)
                        say(line)

        self._ask(listen, doing)
        if wrong:
            raise BundleError(wrong[0])
        return said

    def _connected(self, docker: Any) -> Any:
        """Return a client of the engine. A Unix socket is tried first: docker-py leaves it open if nothing listens."""
        host = self._environ.get("DOCKER_HOST") or USUAL
        if host.startswith("unix://"):
            with socket.socket(socket.AF_UNIX) as door:
                door.connect(host.removeprefix("unix://"))
        return docker.from_env(environment=self._environ, timeout=SILENT_S)

    def _ask(self, work: Callable[[Any], Any], doing: str) -> Any:
        try:
            import docker
            import docker.errors
            import requests
        except ImportError:
            raise UsageError(_MISSING) from None
        try:
            client = self._connected(docker)
        except (docker.errors.DockerException, requests.RequestException, OSError) as error:
            where = self._environ.get("DOCKER_HOST") or USUAL
            raise BundleError(
                f"no Docker engine answers at {where}; start one, set DOCKER_HOST, or use --bundler_type=cloudbuild"
            ) from error
        try:
            with closing(client):
                return work(client.api)
        except docker.errors.APIError as error:
            raise BundleError(_refusal(doing, str(error.explanation or error), "")) from error
        except (docker.errors.DockerException, requests.RequestException, OSError) as error:
            raise BundleError(f"{doing}: {error}") from error


def _lines(item: Mapping[str, Any]) -> list[str]:
    """Return the lines of a message that people want to see: steps and their output, and the state of layers.

    Progress bars are left out.
    """
    if item.get("progressDetail"):
        return []
    text = str(item.get("stream") or item.get("status") or "")
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return [f"{item['id']}: {line}" for line in lines] if item.get("id") else lines


def _refusal(doing: str, error: str, words: str) -> str:
    error = " ".join(error.split())
    lower = error.lower()
    if any(word in lower for word in ("unauthorized", "authentication", "no basic auth", "denied", "forbidden")):
        return f"{doing}: {error}; run docker login, ask for the right, or use --bundler_type=artifactregistry"
    if "manifest unknown" in lower or ("not found" in lower and doing.startswith("looking")):
        return f"{doing}: {error}; check the name and the tag"
    return f"{doing}: {error}" + (f"; before that: {words}" if words else "")


def _hexadecimal(digest: str, name: str) -> str:
    if not digest.startswith("sha256:"):
        raise BundleError(f"the registry returned no digest for {name}; push it again")
    return digest.removeprefix("sha256:")
