"""The user's code as a container image: built from the folder's own Dockerfile, pushed, and named by its digest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bastion.model.errors import BundleError
from bastion.model.interfaces import Bucket, Shell

from . import git_answers
from .docker_engine import DockerEngine, Login, Say
from .interface import Bundle
from .recipe import DOCKERFILE_BYTES, Recipe, check
from .worktree import WorkTree, top_of

_SHORT = 12


def nobody() -> Login:
    """Return an empty login: the engine then uses what `docker login` has stored."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """The settings and checks of a build from a folder.

    shell: runs git.
    recipe: the image to build.
    allow_dirty: True if the folder may differ from its commit.
    settings: the names that a user may give besides build arguments, for hints.
    """

    shell: Shell
    recipe: Recipe
    allow_dirty: bool = False
    settings: tuple[str, ...] = ()

    def ready(self, source: Path) -> tuple[str, ...]:
        """Check all that can be checked without a build. Return notes for the user. Raises `BundleError`."""
        check(self.recipe, _dockerfile(source, self.recipe.dockerfile), self.settings)
        if top_of(self.shell, source) is None:
            return (f"'{source}' is not in a git repository: no commit is recorded for the image",)
        tree = WorkTree(self.shell, source)
        inside = f"{tree.prefix}/" if tree.prefix else ""
        changed = [change.path for change in tree.changed() if change.path.startswith(inside)]
        if changed and not self.allow_dirty:
            raise BundleError(
                f"'{source}' has changes that are not committed: {git_answers.some(changed)};"
                " commit them, or take them along with --bundler_spec=allow_dirty=true"
            )
        return (f"uncommitted changes go into the image: {git_answers.some(changed)}",) if changed else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerBundler:
    """The bundler that builds an image on this machine's Docker engine and pushes it.

    context: what to build, and its checks.
    engine: the Docker engine.
    say: called with each line for the user.
    login: returns the account that pushes.
    before: called before the build, to check the registry.
    """

    context: BuildContext
    engine: DockerEngine
    say: Say
    login: Callable[[], Login] = nobody
    before: Callable[[], None] = lambda: None

    def bundle(self, source: Path, bucket: Bucket) -> Bundle:
        """Build and push an image. Nothing goes to the bucket.

        Raises `BundleError`, and what `before` and `login` raise.
        """
        notes, name = self.context.ready(source), self.context.recipe.name
        self.before()
        image = self.engine.build(source, self.context.recipe, self.say)
        tag = f"bastion-{image.removeprefix('sha256:')[:_SHORT]}"
        digest = self.engine.push(image, name, tag, self.login(), self.say)
        return Bundle("image", image=name, digest=digest, notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class PinningBundler:
    """The bundler for an image that exists already: it takes what the tag names now.

    name: the full name of the image in its registry, without a tag.
    tag: the tag.
    digest: asks the registry for the digest of (name, tag).
    """

    name: str
    tag: str
    digest: Callable[[str, str], str]

    def bundle(self, source: Path, bucket: Bucket) -> Bundle:
        """Return the image by its digest. It needs neither the folder nor the bucket. Raises what `digest` raises."""
        return Bundle("image", image=self.name, digest=self.digest(self.name, self.tag))


def _dockerfile(source: Path, name: str) -> str:
    path = source / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise BundleError(f"dockerfile is {name[:200]!r}; use a path below the folder that is built")
    try:
        data = path.read_bytes()[: DOCKERFILE_BYTES + 1]
    except OSError as error:
        raise BundleError(f"there is no {path}: {error}; name it with --bundler_spec=dockerfile=PATH") from error
    if len(data) > DOCKERFILE_BYTES:
        raise BundleError(f"{path} has more than {DOCKERFILE_BYTES} bytes; it is not a Dockerfile")
    return data.decode(errors="replace")
