"""`launch diff`: compare two jobs: their specs, their code and their environments."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bastion.bundler.compare import difference
from bastion.bundler.unpack import unpack
from bastion.launcher.read.job_lookup import FoundJob
from bastion.launcher.read.past_jobs import look_up
from bastion.launcher.read.stored_spec import needed_spec
from bastion.launcher.submit.spec_diff import Pairs, asked_for, surroundings
from bastion.model.errors import ObjectNotFound
from bastion.model.interfaces import Bucket
from bastion.model.job.spec import BundleRef, JobSpec, written_out

from ..common.command_context import context_of
from ..terminal.flags import Options
from ..terminal.main import DONE, Call

NAMES = 100
_ONLY = {"added": "only in the second", "removed": "only in the first", "changed": "in both, but different"}


def run(call: Call[Options]) -> int:
    """Print every difference. The exit code is 0 with and without differences."""
    context = context_of(call)
    view = context.reader().look()
    jobs = [look_up(word, view, context.bucket, context.tasks) for word in call.words]
    one, other = (needed_spec(context.bucket, context.tasks, job) for job in jobs)
    with call.output.progress("comparing"):
        code = _code(context.bucket, one.bundle, other.bundle)
    found = {"spec": asked_for(one, other), "environment": surroundings(one, other), "code": code}
    if call.output.json:
        call.output.data({"schema": 1, "jobs": [{"id": job.id, "name": job.name} for job in jobs], **found})
    else:
        call.output.say("\n".join(_page(jobs, one, other, found)))
    return DONE


def _code(bucket: Bucket, one: BundleRef, other: BundleRef) -> dict[str, Any]:
    """Compare the code: the two bundles, and if both are folders, file by file."""
    told: dict[str, Any] = {"same": one == other, "bundles": [written_out(one), written_out(other)]}
    if one == other or (one.type, other.type) != ("tar", "tar"):
        return told
    with tempfile.TemporaryDirectory(prefix="bastion-diff-") as folder:
        trees = [Path(folder, name) for name in ("a", "b")]
        for bundle, tree in zip((one, other), trees, strict=True):
            try:
                unpack(bucket.read(bundle.key).data, bundle.digest, tree)
            except ObjectNotFound:
                return told | {"missing": bundle.key}
        return told | asdict(difference(*trees))


def _page(jobs: list[FoundJob], one: JobSpec, other: JobSpec, found: dict[str, Any]) -> Iterator[str]:
    yield f"{jobs[0].id} -> {jobs[1].id}"
    for part in ("spec", "environment"):
        yield from _table(part, found[part])
    code = found["code"]
    if not code["same"]:
        yield from ("", "code", f"  {_named(one.bundle)} -> {_named(other.bundle)}")
        yield from _files(code)
    elif not (found["spec"] or found["environment"]):
        yield "no difference"


def _table(title: str, pairs: Pairs) -> Iterator[str]:
    if pairs:
        yield from ("", title)
        width = max(map(len, pairs))
        yield from (f"  {name:<{width}}  {_text(old)} -> {_text(new)}" for name, (old, new) in pairs.items())


def _files(code: dict[str, Any]) -> Iterator[str]:
    if "missing" in code:
        yield f"  cannot be compared: the bucket has removed {code['missing']}"
    for kind, told in _ONLY.items():
        names = code.get(kind, ())
        if names:
            more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
            yield f"  {told}: {', '.join(names[:NAMES])}{more}"
    if code.get("lines"):
        yield from ("", *code["lines"])
    if code.get("cut"):
        yield "… and more; the first lines are shown"


def _named(bundle: BundleRef) -> str:
    if bundle.type == "git":
        changes = f" with changes {bundle.digest[:12]}" if bundle.digest else ""
        return f"commit {bundle.commit} of {bundle.repo}{changes}"
    if bundle.type == "image":
        return f"image {bundle.image}@sha256:{bundle.digest[:12]}" if bundle.digest else f"image of {bundle.build}"
    return f"{bundle.type} {bundle.digest[:12]}".strip()


def _text(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    return value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)
