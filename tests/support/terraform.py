"""The Terraform of `deploy/terraform` as what it would make: buckets, and the grants in each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import hcl2

from bastion.launcher.access.bucket_rights import BucketRights, read

FOLDER = Path(__file__).parents[2] / "deploy" / "terraform"
NAMES = ("private", "permanent", "ttl")
VARS: Mapping[str, Any] = {
    "project": "p",
    "bastion": "team",
    "prefix": "acme",
    "members": {"alice": "user:alice@x", "bob": "user:bob@x", "al": "user:al@x"},
    "admins": ["user:root@x"],
    "readers": ["group:all@x"],
    "bundles_days": 30,
}
_HOLE = re.compile(r"\$\{([a-z_.\[\]]+)\}")
_CHOICE = re.compile(r"\$\{var\.([a-z_]+) \? (\S+) : (\S+)\}")


@dataclass(frozen=True)
class Plan:
    """Every resource by (kind, name), and the locals."""

    resources: Mapping[tuple[str, str], Mapping[str, Any]]
    locals: Mapping[str, str]
    vars: Mapping[str, Any]

    def of_kind(self, kind: str) -> Mapping[str, Mapping[str, Any]]:
        return {name: body for (its, name), body in self.resources.items() if its == kind}

    def access(self, name: str) -> BucketRights:
        """The rights in one of the three buckets."""
        bucket = self.resources["google_storage_bucket", name]
        rows = list(self._rows(name))
        settings = {
            "uniformBucketLevelAccess": {"enabled": bucket["uniform_bucket_level_access"]},
            "publicAccessPrevention": self.text(bucket["public_access_prevention"]),
        }
        return read(self.text(bucket["name"]), {"bindings": rows}, settings)

    def _rows(self, bucket: str) -> Iterator[dict[str, Any]]:
        for body in self.of_kind("google_storage_bucket_iam_member").values():
            if body["bucket"] != f"${{google_storage_bucket.{bucket}.name}}":
                continue
            for key, value in self.each(body.get("for_each")):
                each = {"each.key": key, "each.value": value}
                row = {"role": self.text(body["role"], each), "members": [self.text(body["member"], each)]}
                (condition,) = body.get("condition", [None])
                if condition:
                    row["condition"] = {
                        "title": self.text(condition["title"], each),
                        "expression": self.text(condition["expression"], each),
                    }
                yield row
        yield from self._of_folders(bucket)

    def _of_folders(self, bucket: str) -> Iterator[dict[str, Any]]:
        """Rights on managed folders: they hold for the objects below, as a condition on the bucket would."""
        for name, body in self.of_kind("google_storage_managed_folder_iam_member").items():
            folder = self.resources["google_storage_managed_folder", name]
            assert body["for_each"] == folder["for_each"]
            for key, value in self.each(body["for_each"]):
                each = {"each.key": key, "each.value": value}
                if self.text(body["bucket"], each) != self.text(f"${{google_storage_bucket.{bucket}.name}}"):
                    continue
                below = self.text(body["managed_folder"], each)
                assert below.endswith("/"), "what the store wants of such a folder's name"
                place = f"projects/_/buckets/{self.text(body['bucket'], each)}/objects/{below}"
                row = {"role": self.text(body["role"], each), "members": [self.text(body["member"], each)]}
                yield row | {"condition": {"title": name, "expression": f'resource.name.startsWith("{place}")'}}

    def each(self, wanted: str | None) -> list[tuple[str, str]]:
        """What a resource is made for: once, for each member, or for each account of several sets."""
        if wanted is None:
            return [("", "")]
        if choice := _CHOICE.fullmatch(wanted):
            wanted = f"${{{choice[2] if self.vars[choice[1]] else choice[3]}}}"
        if wanted == "${{}}":
            return []
        if wanted == "${var.members}":
            return list(self.vars["members"].items())
        accounts: dict[str, None] = {}
        for word in re.findall(r"var\.([a-z_]+)", wanted):
            found = self.vars[word]
            accounts |= dict.fromkeys(found.values() if isinstance(found, dict) else found)
        return [(account, account) for account in accounts]

    def text(self, value: str, each: Mapping[str, str] = {}) -> str:
        """A string of HCL with its gaps filled."""
        found = value.removeprefix('"').removesuffix('"').replace('\\"', '"')
        while hole := _HOLE.search(found):
            found = found.replace(hole[0], self._value(hole[1], each))
        return found

    def _value(self, word: str, each: Mapping[str, str]) -> str:
        if word in each:
            return each[word]
        kind, _, rest = word.partition(".")
        if kind == "var":
            return str(self.vars[rest])
        if kind == "local":
            return self.text(self.locals[rest])
        name, _, attribute = rest.replace("[each.key]", "").partition(".")
        body = self.resources[kind, name]
        made = {"member": "serviceAccount:{}@p", "email": "{}@p", "id": "projects/p/roles/{}"}
        if attribute in made:
            return made[attribute].format(self.text(body.get("account_id") or body["role_id"]))
        return self.text(body[attribute], each)


@lru_cache
def plan(*, managed_folders: bool = False) -> Plan:
    """All files together, with this choice. Raises what the parser raises if one is not HCL."""
    resources: dict[tuple[str, str], Mapping[str, Any]] = {}
    own: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*.tf")):
        with path.open() as file:
            found: Any = hcl2.load(file)
        for block in found.get("resource", []):
            for kind, named in block.items():
                for name, body in named.items():
                    resources[kind.strip('"'), name.strip('"')] = body
        for block in found.get("locals", []):
            own |= {name: value for name, value in block.items() if not name.startswith("__")}
    return Plan(resources, own, {**VARS, "managed_folders": managed_folders})
