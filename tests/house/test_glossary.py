"""Names: every word of one is the field's or stands in the glossary, and no name means two things.

A name is split into words: `PendingJobs` and `pending_jobs` are *pending job*. An entry of several words, as *pending jobs*,
covers them where they stand together. Any other word is an entry of its own, or a plain word of the field, listed in
`field_words.txt`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

from bastion.cli.bastion import tool as bastion
from bastion.cli.launch import tool as launch
from tests.house.source import ROOT, Module, modules

DOCS = ROOT / "docs"
WORDS = Path(__file__).parent / "field_words.txt"

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z]|$|_)|[A-Z]?[a-z]+\d*|[A-Z]\d*|\d+")
_ENDINGS = (
    ("ies", "y"), ("ied", "y"), ("es", ""), ("s", ""), ("ed", ""), ("d", ""), ("ing", ""), ("ing", "e"), ("er", ""), ("r", ""),
)  # fmt: skip
_DOUBLED = re.compile(r"(\w+?)(\w)\2(?:ed|ing|er)")

COMMANDS = PurePosixPath("cli/launch"), PurePosixPath("cli/bastion")
"""A module of a command has the command's name, which another room may have for what the command shows."""

OPTIONS = {"cli/options/launch.py", "cli/options/bastion.py"}
"""The options of a command are named after it, and both tools have a `stop`."""

ROLES = "interface interfaces client deletion dry_run fleet listing names parse render runner settings".split()
"""Modules with the same role in several folders: the interfaces of a folder, and the parts that each runner has."""

FOLDERS = ("bastion", "hosting", "parts")
"""Folders of the same meaning: for the tool `bastion`, for hosting, and for what commands share."""

RESERVED = ("node", "agent", "role", "pool", "world", "fence")
"""Words for what comes next: a node, its agent, its role; a pool of nodes; one membership of an attempt; a node's self-stop."""

TERMS: Mapping[str, Mapping[str, str]] = {
    "node": {
        "cli/launch/parts/ssh_tunnel.py": "a node of Cloud TPU",
        "runners/google/tpu": "a node of Cloud TPU",
        "runners/kubernetes": "a node of Kubernetes",
        "runners/ray": "a node of Ray",
        "runners/slurm": "a node of Slurm",
        "runners/worker/linux/ports.py": "the node ports of Kubernetes",
    },
    "role": {
        "cli/hosting/store_credentials.py": "a role of IAM",
        "launcher/access/bucket_rights.py": "a role of IAM",
        "runners/google/api/failures.py": "a role of IAM",
        "runners/google/hosting": "a role of IAM",
        "runners/kubernetes/deployment.py": "a role of RBAC",
    },
    "pool": {
        "bastion/platform/system.py": "a pool of threads",
        "bastion/stores": "a pool of threads",
        "cli/common/bundler_settings.py": "a worker pool of Cloud Build",
        "launcher/explain/waiting.py": "a key of JSON",
        "runners/google/images/cloud_build.py": "a worker pool of Cloud Build",
        "runners/kubernetes/replica_pods.py": "a node pool of GKE",
    },
    "world": {"bastion/model/version.py": "the stored object `world.json`"},
}
"""Where a reserved word means something else, which is called so outside of our code: files or folders, with what it is there."""


def words(name: str) -> list[str]:
    """Split a name into its words, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


@cache
def bases(word: str) -> tuple[str, ...]:
    """The word, and the words of which it may be a form: *decided* and *decider* of *decide*."""
    cut = [word[: -len(end)] + rest for end, rest in _ENDINGS if word.endswith(end) and len(word) > len(end) + 1]
    doubled = _DOUBLED.fullmatch(word)
    return (word, *cut, *([doubled[1] + doubled[2]] if doubled else []))


@cache
def glossary() -> tuple[str, ...]:
    """The entries of the glossary, in their order."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    return tuple(entry for entry, _ in rows if entry != "word")


@cache
def listed() -> tuple[str, ...]:
    """The field's words of the list, in their order."""
    return tuple(word for line in WORDS.read_text().splitlines() if not line.startswith("#") for word in line.split())


@cache
def names() -> Mapping[str, tuple[str, ...]]:
    """The names of modules, public classes and commands, each with the files that have it."""
    found: dict[str, list[str]] = defaultdict(list)
    for module in modules().values():
        found[module.name.rpartition(".")[2].strip("_")].append(module.shown)
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and node.name[0] != "_":
                found[node.name].append(module.shown)
    for tool in (launch.TOOL, bastion.TOOL):
        for command in tool.commands:
            found[command.name].append(f"{tool.name} {command.name}")
    return {name: tuple(files) for name, files in found.items()}


def covered(name: str, entries: Collection[str], plain: Collection[str]) -> tuple[list[str], list[str]]:
    """Cover a name, the longest entries first: the entries and plain words that do, and the words that nothing covers."""
    left, used, strange = words(name), list[str](), list[str]()
    while left:
        fitting = [entry for entry in entries if _begins(left, _parts(entry))]
        if fitting:
            used.append(
                max(fitting, key=lambda entry: (len(_parts(entry)), _parts(entry) == left[: len(_parts(entry))]))
            )
            left = left[len(_parts(used[-1])) :]
            continue
        word = left.pop(0)
        known = next((base for base in bases(word) if base in plain), None)
        (used if known else strange).append(known or word)
    return used, strange


@cache
def _parts(entry: str) -> list[str]:
    return re.split("[ -]", entry)


def _begins(left: Sequence[str], entry: Sequence[str]) -> bool:
    return len(left) >= len(entry) and all(map(_is_form, left, entry))


@cache
def _is_form(word: str, of: str) -> bool:
    return not {*bases(word)}.isdisjoint(bases(of))


def test_every_word_of_a_name_is_in_the_glossary_or_is_the_fields() -> None:
    strange = {name: found for name in names() if (found := covered(name, glossary(), listed())[1])}
    assert strange == {}, "use the field's word, or add one to the glossary or to field_words.txt"


def test_every_word_of_the_list_is_in_a_name() -> None:
    used = {word for name in names() for word in covered(name, glossary(), listed())[0]}
    assert [word for word in listed() if word not in used] == []


def test_every_entry_and_word_stands_once() -> None:
    assert [entry for entry, times in Counter(glossary()).items() if times > 1] == []
    assert list(glossary()) == sorted(glossary(), key=str.lower)
    assert [word for word, times in Counter((*listed(), *glossary())).items() if times > 1] == []


def test_every_entry_is_used() -> None:
    """In a name of ours, or in the text of a page, which a decision of the past is not."""
    called = {name for module in modules().values() for name in given(module)} | names().keys()
    pages = [path for path in DOCS.rglob("*.md") if path.name != "glossary.md" and "decisions" not in path.parts]
    text = " ".join(" ".join(path.read_text().lower().split()) for path in pages)
    used = {entry for name in called for entry in covered(name, glossary(), ())[0]}
    assert [entry for entry in glossary() if entry not in used and not re.search(rf"\b{entry.lower()}", text)] == []


@pytest.mark.parametrize(("of_folders", "several"), [(False, ROLES), (True, FOLDERS)], ids=["files", "folders"])
def test_no_two_modules_of_different_meaning_share_a_name(of_folders: bool, several: Collection[str]) -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for module in modules().values():
        path = PurePosixPath(module.shown)
        if module.is_package is of_folders and (of_folders or path.parent not in COMMANDS):
            homes[path.parent.name if of_folders else path.stem].append(module.shown)
    shared = {name: paths for name, paths in homes.items() if len(paths) > 1}
    assert {name: paths for name, paths in shared.items() if name not in several} == {}
    assert [name for name in several if name not in shared] == [], "these need no exception any more"


def test_no_two_public_classes_share_a_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for module in modules().values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and node.name[0] != "_":
                homes[node.name].append(module.shown)
    assert len(homes) > 400
    assert {name: found for name, found in homes.items() if len(found) > 1 and set(found) != OPTIONS} == {}


@pytest.mark.parametrize("word", RESERVED)
def test_a_word_that_is_kept_free_names_nothing_else(word: str) -> None:
    met: dict[str, set[str]] = defaultdict(set)
    for module in modules().values():
        named = {name for name in given(module) if word in {base for part in words(name) for base in bases(part)}}
        place = next((place for place in TERMS.get(word, {}) if _within(module.shown, place)), module.shown)
        met[place] |= named
    assert {place: found for place, found in met.items() if found and place not in TERMS.get(word, {})} == {}
    assert [place for place in TERMS.get(word, {}) if not met[place]] == [], "these need no exception any more"


def test_a_word_of_several_forms_is_known_by_its_base() -> None:
    assert words("S3BucketURL_of2") == ["s3", "bucket", "url", "of2"]
    plain = {"decide", "stop", "copy", "fence", "job"}
    for name in ("Decided", "decider", "stopping", "copies", "fencing", "Jobs"):
        assert covered(name, (), plain)[1] == [], name
    assert covered("PendingJobs", ("pending jobs", "job"), ()) == (["pending jobs"], [])
    assert covered("pending_lodging", ("job",), {"pending"}) == (["pending"], ["lodging"])


def given(module: Module) -> Iterator[str]:
    """Yield the names that a module gives: its own, and those of its classes, functions, parameters, variables and attributes."""
    yield module.name.rpartition(".")[2]
    for node in ast.walk(module.tree):
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.alias(asname=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
                | ast.ExceptHandler(name=str(name))
            ):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def _within(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")
