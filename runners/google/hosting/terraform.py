"""The bastion in Google's cloud as Terraform files, for people who make everything in their cloud from files. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..api.interface import Answer
from . import rights
from .bastion_vm import BastionVm, email, instance
from .startup_script import SCRIPT

_HEAD = """\
# The bastion {bastion} in {url}. Made by bastion create --terraform; to change it, make it anew.

terraform {{
  required_version = ">= 1.5"

  required_providers {{
    google = {{
      source  = "hashicorp/google"
      version = ">= 6.0"
    }}
  }}
}}

provider "google" {{
  project = {project}
}}
"""


def files(host: BastionVm) -> dict[str, str]:
    """Return the files of a Terraform folder, by name."""
    head = _HEAD.format(bastion=host.bastion, url=host.url, project=_text(host.project))
    blocks = [*_apis(host), *_accounts(host), *_roles(host), *_grants(host), _vm(instance(host), host)]
    return {"main.tf": "\n".join([head, *blocks]), "start.sh": SCRIPT}


def _apis(host: BastionVm) -> Iterator[str]:
    for api in rights.APIS:
        if not api.startswith("tpu.") or "tpu" in host.runners:
            fields = {"service": _text(api), "disable_on_destroy": "false"}
            yield _block("google_project_service", api.partition(".")[0], fields)


def _accounts(host: BastionVm) -> Iterator[str]:
    for name, address in _ours(host).items():
        whose = f"{'The bastion' if name == 'bastion' else 'Machines of the bastion'} {host.bastion}"
        fields = {"account_id": _text(address.partition("@")[0]), "display_name": _text(whose)}
        yield _block("google_service_account", name, fields)


def _roles(host: BastionVm) -> Iterator[str]:
    yield _role("lister", rights.LISTER, "Sees the names of objects, and not what they hold", ["storage.objects.list"])
    if "gce" in host.runners:
        yield _role("fleet", host.role, f"The machines of the bastion {host.bastion}", list(rights.FLEET))


def _role(name: str, role: str, title: str, permissions: Sequence[str]) -> str:
    fields = {"role_id": _text(role), "title": _text(title), "permissions": _list(permissions)}
    return _block("google_project_iam_custom_role", name, fields)


def _grants(host: BastionVm) -> Iterator[str]:
    for number, grant in enumerate(rights.grants(host)):
        of = "google_storage_bucket_iam_member" if grant.on == "bucket" else "google_project_iam_member"
        fields = {"bucket": _text(grant.name)} if grant.on == "bucket" else {"project": _text(host.project)}
        if grant.on == "account":
            of = "google_service_account_iam_member"
            fields = {"service_account_id": _text(f"projects/{host.project}/serviceAccounts/{grant.name}")}
        fields |= {"role": _text(grant.role), "member": _text(grant.member)}
        needs = [f"google_service_account.{name}" for name in _ours(host)]
        needs += ["google_project_iam_custom_role.lister"] if rights.LISTER in grant.role else []
        needs += ["google_project_iam_custom_role.fleet"] if host.role in grant.role else []
        inner = (
            {"condition": {"title": _text(grant.title), "expression": _text(grant.expression)}} if grant.only else {}
        )
        yield _block(of, f"grant_{number}", {**fields, "depends_on": _names(needs)}, inner, why=grant.why)


def _vm(vm: Answer, host: BastionVm) -> str:
    metadata = {item["key"]: _text(item["value"]) for item in vm["metadata"]["items"]}
    metadata["startup-script"] = 'file("${path.module}/start.sh")'
    [disk], [account] = vm["disks"], vm["serviceAccounts"]
    start = disk["initializeParams"]
    fields = {
        "name": _text(vm["name"]),
        "description": _text(vm["description"]),
        "zone": _text(host.zone),
        "machine_type": _text(host.machine_type),
        "labels": _map({key: _text(value) for key, value in vm["labels"].items()}),
        "metadata": _map(metadata),
        "allow_stopping_for_update": "true",
        "depends_on": _names([f"google_service_account.{name}" for name in _ours(host)]),
    }
    inner = {
        "boot_disk.initialize_params": {"image": _text(start["sourceImage"]), "size": start["diskSizeGb"]},
        "network_interface": {"subnetwork": _text(host.subnetwork)},
        "service_account": {"email": _text(account["email"]), "scopes": _list(account["scopes"])},
        "scheduling": {"automatic_restart": "true", "on_host_maintenance": _text("MIGRATE")},
        "shielded_instance_config": {
            "enable_secure_boot": "true",
            "enable_vtpm": "true",
            "enable_integrity_monitoring": "true",
        },
    }
    return _block("google_compute_instance", "bastion", fields, inner, why="no external address, no open port")


def _ours(host: BastionVm) -> dict[str, str]:
    """Return the accounts that are made here, by the name of their Terraform resource."""
    made = {"bastion": host.account, "worker": host.workers}
    return {name: one for name, one in made.items() if one == email(one.partition("@")[0], host.project)}


def _block(
    kind: str,
    name: str,
    fields: Mapping[str, str],
    inner: Mapping[str, Mapping[str, str]] | None = None,
    *,
    why: str = "",
) -> str:
    """Return a resource in the format of `terraform fmt`.

    `inner` are the blocks in it, nested by dots in their names.
    """
    lines = [f"# {why}"] if why else []
    lines += [f'resource "{kind}" "{name}" {{', *_aligned(fields, 1)]
    for path, values in (inner or {}).items():
        outer = path.split(".")
        lines += ["", *(f"{'  ' * (depth + 1)}{part} {{" for depth, part in enumerate(outer))]
        lines += _aligned(values, len(outer) + 1)
        lines += [f"{'  ' * depth}}}" for depth in range(len(outer), 0, -1)]
    return "\n".join([*lines, "}", ""])


def _aligned(fields: Mapping[str, str], depth: int) -> Iterator[str]:
    """Yield fields with their equals signs in one column.

    A value of several lines stands apart, as `terraform fmt` wants.
    """
    short = [key for key, value in fields.items() if "\n" not in value]
    width = max((len(key) for key in short), default=0)
    pad = "  " * depth
    yield from (f"{pad}{key:<{width}} = {fields[key]}" for key in short)
    for key, value in fields.items():
        if "\n" in value:
            yield from ("", f"{pad}{key} = " + value.replace("\n", f"\n{pad}"))


def _text(value: Any) -> str:
    """Quote a text so that nothing in it is a template."""
    return json.dumps(str(value), ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]" if len(values) < 3 else _lines([_text(value) for value in values])


def _names(values: Sequence[str]) -> str:
    return f"[{', '.join(values)}]"


def _lines(values: Sequence[str]) -> str:
    return "\n".join(["[", *(f"  {value}," for value in values), "]"])


def _map(values: Mapping[str, str]) -> str:
    names = {
        key if key.replace("-", "").replace("_", "").isalnum() else _text(key): value for key, value in values.items()
    }
    return "\n".join(["{", *_aligned(names, 1), "}"])
