"""The pages say what the code does: keys, states, exit codes, dependencies, commands and links."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from importlib.metadata import packages_distributions
from inspect import getmembers, isfunction
from pathlib import Path
from typing import Any

import pytest

from bastion.cli.bastion import tool as bastion_tool
from bastion.cli.launch import tool as launch_tool
from bastion.cli.terminal import main
from bastion.launcher.read import exit_codes
from bastion.model import layout
from bastion.model.interfaces import AttemptKey, Runner
from bastion.model.state.state import Cause
from bastion.model.state.transitions import ATTEMPT_MOVES, FAILURES, MOVES
from bastion.quota import quota_file
from bastion.quota.name_patterns import LENGTH_MAX
from bastion.quota.policy.scheduler import POLICIES
from bastion.runners.programs.worker_options import NEEDED
from bastion.testing.runner_contract import RunnerContract
from bastion.testing.stage import Fleet
from tests.house.source import ROOT, modules, tracked

PAGES = sorted(path for path in tracked() if path.suffix == ".md")
DOCS = ROOT / "docs"
TOOLS = {"bastion": bastion_tool.TOOL, "launch": launch_tool.TOOL}

ATTEMPT: Any = "<attempt>"
KEYS: Mapping[str, str] = {
    "request": layout.request("<user>", "<request>"),
    "journal": layout.journal(0).replace("0" * 12, "<seq>"),
    "snapshot": layout.snapshot(0).replace("0" * 12, "<seq>"),
    "ended": layout.ended("<name>-0").replace("<name>-0", "<job>"),
    "bundle": layout.bundle("<digest>", "<extension>"),
    "build": layout.build("<digest>"),
    "order": layout.order(ATTEMPT),
    "stop": layout.stop(ATTEMPT),
    "peers": layout.peers(ATTEMPT),
    "claim": layout.claim(ATTEMPT, 0).replace("0", "<worker>"),
    "beat": layout.beat(ATTEMPT, 0).replace("0", "<worker>"),
    "facts": layout.facts(ATTEMPT, 0).replace("0", "<worker>"),
    "log": layout.segment(layout.log(ATTEMPT, 1), 0).replace("0" * 8, "<n>").replace("1", "<worker>"),
    "bastion_log": layout.segment(layout.bastion_log(1), 0).replace("0" * 8, "<n>").replace("000001", "<epoch>"),
    "watch": layout.watch("<job>", 0).replace("0", "<task>"),
    "probe": layout.probe("<prefix>/", "<nonce>"),
    "outputs": layout.outputs("<job>", 0).replace("0", "<task>"),
}
PARTS = {
    "is_ours",
    "segment",
    "request_of",
    "request_name",
    "is_journal",
    "is_snapshot",
    "seq_of",
    "worker_of",
    "ordered",
    "ended_of",
    "job_id",
    "home",
    "is_probe",
}
"""Functions of the layout that name no object by themselves."""


def rows(page: str, heading: str = "") -> list[tuple[str, ...]]:
    """The rows of the tables of a page, or of one section; without back-quotes, heads and rulers."""
    text = (DOCS / page).read_text()
    section = text.split(f"## {heading}\n")[1].split("\n## ")[0] if heading else text
    lines = re.findall(r"^\|(?!---)(.+)\|$(?!\n\|---)", section, re.MULTILINE)
    return [tuple(cell.strip().strip("`") for cell in line.split(" | ")) for line in lines]


def test_the_layout_page_has_every_key_and_no_other() -> None:
    functions = {name for name, _ in getmembers(layout, isfunction)}
    assert functions - PARTS == set(KEYS)
    constants = {layout.QUOTA, layout.CONFIG, layout.STATUS, layout.CLOCK, layout.SEAL}
    assert sorted(row[0] for row in rows("reference/bucket-layout.md")) == sorted(constants | set(KEYS.values()))


def test_the_layout_page_explains_every_prefix() -> None:
    prefixes = {
        value for name, value in vars(layout).items() if name.isupper() and name[0] != "_" and value.endswith("/")
    }
    assert {key.split("/")[0] + "/" for key in KEYS.values()} >= prefixes
    assert str(AttemptKey("<job>", 0, 1)) == "<job>/0/1"


@pytest.mark.parametrize(("heading", "moves"), [("Of jobs and tasks", MOVES), ("Of attempts", ATTEMPT_MOVES)])
def test_the_states_page_has_every_state_and_move(heading: str, moves: Mapping[StrEnum, frozenset[StrEnum]]) -> None:
    told = {row[0]: set(re.findall("[A-Z]+", row[2])) for row in rows("reference/states.md", heading)}
    assert told == {state.value: {then.value for then in after} for state, after in moves.items()}


def test_the_states_page_has_every_cause_and_what_it_costs() -> None:
    told = {row[0]: row[2] for row in rows("reference/states.md", "Why an attempt ended")}
    assert told == {cause.value: "yes" if cause in FAILURES else "no" for cause in Cause}


def test_the_page_of_exit_codes_has_every_code() -> None:
    codes = {value for name, value in vars(main).items() if name.isupper() and isinstance(value, int)}
    codes |= {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert {int(row[0]) for row in rows("reference/exit-codes.md") if row[0].isdigit()} == codes


def test_the_policies_page_has_every_policy() -> None:
    headings = re.findall(r"^## (.+)$", (DOCS / "explanation/scheduling.md").read_text(), re.MULTILINE)
    assert [heading for heading in headings if heading.islower()] == list(POLICIES)


def test_the_quota_page_has_every_table_and_limit() -> None:
    told = rows("reference/quota-file.md")
    assert [row[0].split(".")[0] for row in told if "bytes" not in row[0]][: len(quota_file.TABLES)] == list(
        quota_file.TABLES
    )
    limits = [quota_file.BYTES_MAX, quota_file.PROJECTS_MAX, quota_file.TIERS_MAX, quota_file.AMOUNT_MAX, LENGTH_MAX]
    assert [int(row[1]) for row in told if row[1].isdigit()] == limits


def test_the_page_on_runners_has_every_method() -> None:
    methods = {name for name, _ in getmembers(Runner, isfunction) if not name.startswith("_")}
    assert {row[0] for row in rows("extend/write-a-runner.md", "What is asked of it, and when")} == methods


def test_the_page_on_runners_has_every_flag_that_a_worker_needs() -> None:
    named = {
        word for row in rows("extend/write-a-runner.md", "Start the worker") for word in re.findall(r"\w+", row[0])
    }
    assert named >= NEEDED


def test_the_page_on_runners_has_every_member_of_a_fleet_and_all_that_differs_between_suites() -> None:
    named = {word for row in rows("extend/write-a-runner.md", "Prove it") for word in re.findall(r"\w+", row[0])}
    members = {name for name in vars(Fleet) if not name.startswith("_")}
    attributes = {name for part in RunnerContract.__mro__ for name in getattr(part, "__annotations__", {})}
    assert members | attributes == named - {"condition", "what", "machine", "key", "worker", "epoch"}


EXTRAS = ("docker", "gcp", "gcsfs", "kubernetes", "s3", "simulate", "testing")
"""What people install; `dev` and `docs` are for those who work on the project."""


def test_no_extra_is_forgotten() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {*EXTRAS, "dev", "docs"} == project["optional-dependencies"].keys()


def test_every_dependency_is_explained_and_no_other() -> None:
    page = (DOCS / "dependencies.md").read_text()
    rest, development = page.split("## For development")
    installed, extras = rest.split("## Extras")
    assert re.findall("^### (.+)$", installed, re.MULTILINE) == sorted(dependencies())
    known = {name for extra in EXTRAS for name in dependencies(extra)}
    assert re.findall("^### (.+)$", extras, re.MULTILINE) == sorted(known)
    assert all(f"`[{extra}]`" in extras for extra in EXTRAS)
    assert re.findall("^### (.+)$", development, re.MULTILINE) == sorted([*dependencies("dev"), *dependencies("docs")])


def test_every_dependency_is_imported_somewhere() -> None:
    imported = {i.module.split(".")[0] for module in modules().values() for i in module.imports}
    by_package = packages_distributions()
    used = {name for package in imported for name in by_package.get(package, ())}
    assert set(dependencies()) - used == set()


def test_every_decision_is_listed_once_under_its_title_in_the_order_of_its_subject() -> None:
    titles = {}
    for path in sorted((DOCS / "decisions").glob("0*.md")):
        number, title = path.read_text().splitlines()[0].removeprefix("# ").split(". ", 1)
        assert path.name.startswith(f"{int(number):04}-")
        titles[path.name] = title
    numbers = [name[:4] for name in titles]
    assert numbers == sorted(set(numbers)), "two decisions have one number"
    subjects = (DOCS / "decisions" / "README.md").read_text().split("\n## ")[1:]
    listed = [
        re.findall(r"^\| (\d+) \| \[(.+?)\]\((0.+?\.md)\) \| .+ \|$", subject, re.MULTILINE) for subject in subjects
    ]
    assert all(rows == sorted(rows, key=lambda row: int(row[0])) for rows in listed)
    rows = [row for subject in listed for row in subject]
    assert sorted((name, title) for _, title, name in rows) == sorted(titles.items())
    assert all(int(number) == int(name[:4]) for number, _, name in rows)
    assert len(re.findall(r"\]\(0", "".join(subjects))) == len(titles), "a decision is linked twice"


def test_a_superseded_decision_is_marked_in_the_list() -> None:
    pages = (DOCS / "decisions").glob("0*.md")
    superseded = {path.name for path in pages if re.search("^Superseded by", path.read_text(), re.MULTILINE)}
    text = (DOCS / "decisions" / "README.md").read_text()
    assert superseded == set(re.findall(r"\((0.+?\.md)\) \| \*\*superseded\*\*", text))
    assert superseded


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    local = [(page.parent / link if link else page, anchor) for link, anchor in links if "://" not in link]
    assert [str(file) for file, _ in local if not file.exists()] == []
    assert [(str(file), anchor) for file, anchor in local if anchor and anchor not in anchors(file)] == []


def test_the_tour_shows_commands_of_both_tools() -> None:
    assert {line.split()[0] for line in commands((ROOT / "README.md").read_text())} == set(TOOLS)


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links, on the site as in the repository."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dependencies(extra: str = "") -> Iterator[str]:
    """What `pyproject.toml` asks for, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted: Iterable[str] = project["optional-dependencies"][extra] if extra else project["dependencies"]
    for requirement in wanted:
        if not requirement.startswith(project["name"]):
            yield re.split(r"[\[<>=; ]", requirement)[0]


def commands(text: str) -> list[str]:
    """The lines that one would type into a terminal, of our two tools."""
    return re.findall(r"^\$ ((?:bastion|launch) .+)$", text, re.MULTILINE)
