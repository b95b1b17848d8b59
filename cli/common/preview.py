"""Show what a runner would ask its engine for: the end of `launch --dry_run`, for people.

Only this file loads the runner's package, and only if it is installed: a client needs no runner.
"""

from __future__ import annotations

from bastion.journal import recover
from bastion.model.errors import BastionError
from bastion.model.interfaces import AttemptKey, Placement
from bastion.model.job.spec import BundleRef, JobSpec
from bastion.model.settings.config import Config
from bastion.schedule.runner_choice import places

from ..terminal.flags import Options
from ..terminal.main import Call
from . import installed_runners
from .bundler_settings import BundlerSettings, named
from .place import BastionPlace, known_place_of
from .runner_contexts import runner_context

_IMAGES = frozenset({"docker", "artifactregistry", "cloudbuild"})
_DIGEST = "DIGEST"  # stands for the digest, which is known only after the build


def preview(call: Call[Options], job: str, spec: JobSpec, settings: BundlerSettings | None = None) -> None:
    """Print, on the error stream, what the runner would ask for at the first attempt.

    `settings` are the bundler settings of code that is not packed yet.
    """
    try:
        place = known_place_of(call)
        config = place.config()
        name = _runner(place, config, spec)
        if name not in installed_runners.installed():
            return
        text = installed_runners.maker(name).preview(
            runner_context(place, config, call.environ, name), _first(job, spec, settings)
        )
    except BastionError as error:
        call.output.note(f"the request to the runner cannot be shown: {error}")
        return
    if text:
        call.output.note(f"the runner {name} would send:\n{text.rstrip()}")


def _runner(place: BastionPlace, config: Config, spec: JobSpec) -> str:
    if len(config.runners) == 1:
        return config.runners[0]
    return places(recover.load(place.bucket), config).runner_of(spec.resources, 0)


def _first(job: str, spec: JobSpec, settings: BundlerSettings | None) -> Placement:
    bundle = spec.bundle
    if settings and settings.kind in _IMAGES:
        bundle = BundleRef(type="image", image=named(settings)[0], digest=_DIGEST)
    return Placement(
        key=AttemptKey(job, 0, 0),
        resources=spec.resources,
        replicas=spec.replicas,
        workers=spec.replicas,
        tier=0,
        epoch=0,
        image=bundle.pinned,
    )
