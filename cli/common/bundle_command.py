"""`launch bundle` and `bastion bundle`: store the code where machines find it, without a job."""

from __future__ import annotations

from bastion.model.job.spec import BundleRef
from bastion.stores.routed import url_of

from ..options.shared import CodeOptions
from ..terminal.main import DONE, Call
from ..terminal.output import Output
from .bundler_settings import settings_of
from .bundling import bundle, docker_repo_of, reference
from .command_context import context_of


def run(call: Call[CodeOptions]) -> int:
    """Bundle the code, and print its identity and its place."""
    kind_said = call.options.bundler_type
    settings = settings_of(kind_said, call.options.bundler_spec, docker_repo_of(call, kind_said))
    context = context_of(call)
    packed = bundle(
        context.bucket, context.clock, call.output, settings, kept_days=context.settings.bundles_days, later=False
    )
    code = reference(packed)
    url = f"{url_of(context.bucket, code.key)}/{code.key}" if code.key else ""
    _tell(call.output, code, url, files=packed.files, size=packed.size)
    return DONE


def _tell(output: Output, code: BundleRef, url: str, *, files: int, size: int) -> None:
    if output.json:
        fields = {name: getattr(code, name) for name in code.__struct_fields__}
        output.data({"schema": 1, **fields, "url": url, "files": files, "bytes": size})
    else:
        known = code.pinned if code.image and code.digest else code.identity or code.build or "none"
        output.say("  ".join(filter(None, (known, code.repo, url))))
