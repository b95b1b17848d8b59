"""The reference pages that are made from the code: `python -m docs.tools.reference` writes them.

A test compares what is committed with what this prints, so a flag, a field or an error cannot go undocumented.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from inspect import cleandoc
from pathlib import Path
from typing import Any

import msgspec

from bastion.cli.bastion import tool as bastion_tool
from bastion.cli.launch import tool as launch_tool
from bastion.cli.options.shared import SubmitOptions
from bastion.cli.terminal import main as command_line
from bastion.cli.terminal.flags import ABOUT, SHARED, Command, Flag, Tool, title
from bastion.cli.terminal.help import default, shown, usage
from bastion.model import errors
from bastion.model.codec import whole
from bastion.model.interfaces import AttemptKey
from bastion.model.job import instances, spec
from bastion.model.job.alternatives import Alternative
from bastion.model.settings import config
from bastion.model.settings.tables import GitSettings, GoogleSettings, JobLimits, UserLimits
from bastion.model.stored.records import Order, Peer, Peers
from bastion.runners.google.hosting import rights
from bastion.runners.google.hosting.bastion_vm import BastionVm
from bastion.runners.worker.environment import ProcessPaths, environment
from bastion.runners.worker.interfaces import WorkerIdentity
from docs.tools.meanings import CONFIG, ENVIRONMENT, LEFT_OUT, SPEC_PAGES

REFERENCE = Path(__file__).resolve().parents[1] / "reference"
MADE = "<!-- Made from the code by `make docs`; a change here is lost. -->"

TYPES: Mapping[Any, tuple[str, Any]] = {
    str: ("text", "/"),
    int: ("whole number", -1),
    float: ("number", -1.0),
    int | None: ("whole number", -1),
    float | None: ("number", -1.0),
    list[str]: ("list of texts", ["/"]),
    list[str] | str: ("list of texts, or text", None),
    dict[str, str]: ("table of texts", {"0": ""}),
    dict[str, str | list[str]]: ("table of texts, or of lists of them", {"0": ""}),
    dict[str, int]: ("table of whole numbers", {"0": -1}),
    dict[str, dict[str, Any]]: ("table of tables", {"0": {}}),
    bool: ("true or false", None),
    bool | None: ("true, false or nothing", None),
    datetime | None: ("time", datetime.min),
    GitSettings: ("table of paths", GitSettings(deploy_key="-")),
    GoogleSettings: ("table", GoogleSettings(tiers=[])),
    UserLimits: ("table of whole numbers", UserLimits(jobs=0)),
    JobLimits: ("table of whole numbers", JobLimits(processes=-1)),
    spec.BundleRef: ("table", None),
    spec.Provenance: ("table", None),
    list[Alternative]: ("list of tables", None),
}
"""Of each type its name, and a value that rules refuse: what they say then is what they allow. None: do not ask."""


def pages() -> dict[str, str]:
    """Every page that is made, by its file name."""
    made = {
        "launch.md": _tool(launch_tool.TOOL),
        "bastion.md": _tool(bastion_tool.TOOL),
        "job-spec.md": _job_spec(),
        "config.md": _config(),
        "environment.md": _environment(),
        "errors.md": _errors(),
        "instances.md": _instances(),
        "google-rights.md": _google_rights(),
    }
    return {name: "\n".join([*lines, "", MADE, ""]) for name, lines in made.items()}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a Markdown table."""
    for row in (heads, ["---"] * len(heads), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _tool(tool: Tool) -> Iterator[str]:
    yield from (f"# {tool.name}", "")
    yield from () if tool.action else (tool.about, "")
    yield from (
        "Flags stand in any order before `--`, with underscores or dashes; `--no_x` undoes the switch `--x`.",
        "",
    )
    yield from ("These go with every command:", "", *_flags([*SHARED, *ABOUT]))
    for command in tool.all():
        yield from _command(tool, command)


def _command(tool: Tool, command: Command) -> Iterator[str]:
    name = title(tool, command) if command.name else f"{tool.name} -- COMMAND"
    yield from ("", f"## {name}", "", command.about, "", "```text", usage(tool, command), "```")
    if command.actions:
        rows = ([f"`{f'{action.name} {action.words}'.strip()}`", action.about] for action in command.actions)
        yield from ("", *table(["action", "meaning"], rows))
    if command.flags:
        yield from ("", *_flags(command.flags))


def _flags(flags: Iterable[Flag[Any]]) -> Iterator[str]:
    return table(["flag", "meaning"], ([f"`{shown(flag)}`", flag.about + default(flag)] for flag in flags))


def _job_spec() -> Iterator[str]:
    some = spec.JobSpec(name="n", user="u", project="p", command="c")
    yield from ("# Job spec", "", _doc(spec.JobSpec), "")
    yield f"It is JSON of at most {spec.SPEC_BYTES_MAX // 1024} KiB. Unknown fields are refused, and all complaints come in"
    yield "one message. `launch --dry_run` prints a spec and writes nothing; `launch show JOB` prints that of a job."
    yield from ("", *_fields(spec.JobSpec, _spec_meaning, lambda field, bad: spec.check(_with(some, field, bad))))
    for part in (Alternative, spec.BundleRef, spec.Provenance):
        yield from ("", f"`{part.__name__}`: {_doc(part)}", "")
        yield from table(["field", "type", "default"], [[f"`{f.name}`", TYPES[f.type][0], _json(f)] for f in _of(part)])


def _spec_meaning(name: str) -> str:
    flag = next((f" (`--{flag.name}`)" for flag in SubmitOptions.flags() if flag.field == name), "")
    page = f"; see {SPEC_PAGES[name]}" if name in SPEC_PAGES else ""
    return f"{meanings(spec.KeptSpec, spec.JobSpec)[name]}{page}{flag}"


def meanings(*records: type) -> dict[str, str]:
    """Return what the fields of records mean, as their docstrings say it."""
    found: dict[str, str] = {}
    for record in records:
        last = ""
        for line in cleandoc(record.__doc__ or "").splitlines():
            if match := re.fullmatch(r"([a-z_]+): (.+)", line):
                last = match[1]
                found[last] = match[2]
            elif line.strip() and last:
                found[last] += f" {line.strip()}"
            else:
                last = ""
    return {name: text[0].upper() + text[1:].removesuffix(".") for name, text in found.items()}


def _config() -> Iterator[str]:
    yield from (
        "# config.toml",
        "",
        "The settings of a bastion, in the bucket. `bastion create` writes them; a bastion at",
    )
    yield "work reads a new file within 10 s, and keeps the last good one when it makes no sense."
    yield from (
        "",
        *_fields(config.Config, CONFIG.__getitem__, lambda k, bad: config.check(_with(config.Config(), k, bad))),
    )


def _fields(
    record: type[msgspec.Struct], meaning: Callable[[str], str], check: Callable[[str, Any], list[str]]
) -> Iterator[str]:
    """A table of a record's fields."""
    heads = ["field", "type", "default", "allowed", "meaning"]
    rows = ([f"`{f.name}`", TYPES[f.type][0], _json(f), _allowed(f, check), meaning(f.name)] for f in _of(record))
    return table(heads, rows)


def _of(record: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(record)


def _json(field: msgspec.structs.FieldInfo) -> str:
    """Its default, as JSON has it; needed if there is none."""
    made = field.default_factory
    value = made() if made is not msgspec.NODEFAULT else field.default
    if value is msgspec.NODEFAULT:
        return "needed"
    return (
        f"`{whole(value) if isinstance(value, UserLimits) else msgspec.json.encode(value).decode()}`"
        if value not in ("", {}, [], None)
        else ""
    )


def _allowed(field: msgspec.structs.FieldInfo, check: Callable[[str, Any], list[str]]) -> str:
    """What the field's rule tells somebody who broke it."""
    probe = TYPES[field.type][1]
    said = [] if probe is None else check(field.name, probe)
    return " ".join(said).partition("; use ")[2]


def _with(record: Any, field: str, value: Any) -> Any:
    return msgspec.structs.replace(record, **{field: value})


def _environment() -> Iterator[str]:
    yield from (
        "# Environment",
        "",
        "What a process finds. Later ones win: in a pod the image's variables; the account's PATH, HOME, USER and LANG; the",
    )
    yield "defaults marked *; on the machine that the job was submitted from, what its user's shell finds programs by (PATH,"
    yield "VIRTUAL_ENV, CONDA_*); what the job's `--env` says; all others, which `--env` may not set."
    mine = variables({})
    free = {name for name in mine if variables({name: "mine"})[name] == "mine"}
    rows = ([f"`{name}`" + " *" * (name in free), ENVIRONMENT[name]] for name in mine)
    yield from ("", *table(["variable", "meaning"], rows))
    yield from ("", "## What is not there", "", "Other launchers set these. Here they are missing, and why:", "")
    yield from table(["variable", "why"], map(list, LEFT_OUT.items()))


def variables(env: dict[str, str]) -> dict[str, str]:
    """The variables of some process whose job sets these."""
    order = Order(
        job="", name="", user="", project="", task=0, count=1, attempt=0, tier=0, command="", env=env, resources={"v4": 8},
        replicas=2, workers=2, bundle=spec.BundleRef(), output_dir="", checkpoint_dir="", grace_s=0.0,
        time_limit_s=None, max_tries=1, restart_reason="", last_step=0,
    )  # fmt: skip
    post = WorkerIdentity(key=AttemptKey("", 0, 0), worker=0, machine="", address="")
    places = ProcessPaths(tmp="", progress="", peers="", output="", checkpoint="")
    return environment(order, post, Peers(members=2 * [Peer(address="", port=0)]), {}, places, env)


def _google_rights() -> Iterator[str]:
    yield from (
        "# Rights in Google Cloud",
        "",
        "What `bastion create` switches on and grants in a project, and no more. Of a bastion that is called `team`, in the",
    )
    yield from ("bucket `gs://BUCKET`; `bastion create --dry_run` shows yours.", "", "## APIs", "")
    yield from table(["API", "for"], ([f"`{api}`", what] for api, what in rights.APIS.items()))
    yield from ("", "## Roles", "")
    google = GoogleSettings(project="PROJECT", zones=["ZONE"], vm_zone="ZONE")
    host = BastionVm(
        bastion="team", url="gs://BUCKET", buckets=["BUCKET"], zone="ZONE", image=".pkg.dev/", google=google
    )
    heads = ["account", "role", "on", "only below", "for"]
    yield from table(heads, (_grant(host, grant) for grant in rights.grants(host)))
    yield from (
        "",
        f"`{rights.LISTER}` holds `storage.objects.list` alone. The role that is made for machines (runner `gce`) holds:",
        "",
    )
    yield from table(["permission", "for"], ([f"`{name}`", what] for name, what in rights.FLEET.items()))
    yield from ("", "Of `roles/tpu.admin` (runner `tpu`) it uses:", "")
    yield from table(["permission", "for"], ([f"`{name}`", what] for name, what in rights.SLICES.items()))
    yield from (
        "",
        "## Whoever runs `bastion create`, `start`, `stop`, `status`, `logs` and `delete`",
        "",
        "`roles/owner` has it all. Beside the objects of the bucket these are needed; and for `bastion delete`, which removes",
        "machines that are left, those of the runners:",
        "",
    )
    yield from table(["permission", "for"], ([f"`{name}`", what] for name, what in rights.CREATE.items()))


def _grant(host: BastionVm, grant: rights.RoleGrant) -> list[str]:
    who = "bastion" if host.account in grant.member else "machines"
    on = {"bucket": "the bucket", "account": "the machines' account", "project": "the project"}[grant.on]
    only = ", ".join(f"`{path.partition('/')[2]}`" for path in grant.only)
    return [
        who,
        f"`{grant.role.rpartition('/')[2] if grant.role.startswith('projects') else grant.role}`",
        on,
        only,
        grant.why,
    ]


def _instances() -> Iterator[str]:
    yield from (
        "# Instance types",
        "",
        "What `--instance_type` may be. A TPU's number is the one of Google's own name.",
        "",
    )
    slices = [one for sizes in instances.SLICES.values() for one in sizes.values()]
    rows = (
        [f"`{one.instance_type}`", str(one.chips), str(one.hosts), one.topology, one.runtime or "on Kubernetes only"]
        for one in slices
    )
    yield from table(["TPU slice", "chips", "hosts", "topology", "runtime version"], rows)
    yield from (
        "",
        f"GPUs are `gpu-KIND-N`, of the kinds {', '.join(instances.KINDS['gpu'])}. Google's machines with them:",
        "",
    )
    machines = (
        [f"`gpu-{one.kind}-{one.gpus}`", one.machine_type, str(one.cpu), f"{one.memory} GiB"]
        for one in instances.VM_TYPES
        if one.kind
    )
    yield from table(["GPUs", "machine type", "vCPUs", "memory"], machines)


def _errors() -> Iterator[str]:
    yield from (
        "# Errors",
        "",
        "One line on standard error, which says what is, to which object, and what to do next; with",
    )
    yield '`--json`, `{"error": "…"}`. The classes are those of [`bastion/model/errors.py`](../../bastion/model/errors.py); each'
    yield "is also what stands below it. Codes of ended jobs are on the page of [exit codes](exit-codes.md)."
    yield from ("", *table(["error", "meaning", "exit code"], _family(errors.BastionError, 0)))


def _family(error: type[errors.BastionError], depth: int) -> Iterator[Sequence[str]]:
    code = next((code for kind, code in command_line.CODES if issubclass(error, kind)), command_line.FAILED)
    yield ["· " * depth + f"`{error.__name__}`", _doc(error), str(code)]
    for below in error.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _family(below, depth + 1)


def _doc(thing: type) -> str:
    """The docstring of a type but for the paragraph about its fields, which have a table of their own."""
    paragraphs = cleandoc(thing.__doc__ or "").split("\n\n")
    return "\n\n".join(paragraph for paragraph in paragraphs if not re.match(r"\w+: ", paragraph))


def main() -> int:
    """Write the pages."""
    for name, text in pages().items():
        (REFERENCE / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
