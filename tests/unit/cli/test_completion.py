"""Completion in the real shells: typed words and TABs become the words of a command line, without a Python at TAB."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from bastion.cli.bastion import tool as bastion
from bastion.cli.common.bundler_settings import IMAGES, KNOWN, settings_of
from bastion.cli.launch import tool as launch
from bastion.cli.launch.parts.job_names import NAMES_MAX
from bastion.cli.terminal.completion_scripts import SHELLS as SCRIPTS
from bastion.cli.terminal.completions import actions, commands, flags, name, values
from bastion.cli.terminal.flags import Tool
from bastion.cli.terminal.main import run
from bastion.model.settings.config import POLICIES
from bastion.quota.demand import CLASSES
from tests.support.bench import Bench
from tests.support.shells import SHELLS, offered, typed

TOOLS = {"bastion": bastion.TOOL, "launch": launch.TOOL}
TYPING = [shell for shell in SHELLS if shell in ("bash", "zsh")]
ASKED = [shell for shell in SHELLS if shell in ("bash", "fish")]


@dataclass(frozen=True)
class Account:
    """A home with names in its cache and profiles in its configuration."""

    folder: Path
    environ: dict[str, str]

    def typed(self, shell: str, line: str) -> list[str]:
        """The words that come of typing this."""
        tool = line.split()[0]
        return typed(shell, script(tool, shell), tool, line, environ=self.environ, folder=self.folder)

    def offered(self, shell: str, line: str) -> set[str]:
        """What the shell would offer; fish says flags without their `=`."""
        tool = line.split()[0]
        found = offered(shell, script(tool, shell), tool, line, environ=self.environ, folder=self.folder)
        return {word.removesuffix("=").removeprefix(line.split()[-1] if line.endswith("=") else "") for word in found}


def script(tool: str, shell: str) -> str:
    """What the tool prints for this shell."""
    out, err = StringIO(), StringIO()
    assert run(TOOLS[tool], ["completion", shell], environ={}, out=out, err=err) == 0
    return out.getvalue()


@pytest.fixture
def account(tmp_path: Path) -> Account:
    jobs = tmp_path / "cache" / "bastion" / "jobs"
    jobs.mkdir(parents=True)
    (jobs / "team-01234567").write_text("train\ntest-a\nsweep.2\n")
    (jobs / "team-b-01234567").write_text("zebra\n")
    config = tmp_path / "config" / "bastion"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('active = "work"\n\n[profiles.work]\nbucket = "b"\n[profiles.home-2]  # mine\n')
    (tmp_path / "quota.toml").touch()
    environ = {"XDG_CACHE_HOME": f"{tmp_path}/cache", "XDG_CONFIG_HOME": f"{tmp_path}/config", "BASTION_NAME": "team"}
    return Account(tmp_path, environ)


@pytest.mark.parametrize("shell", TYPING)
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("launch lo\ttr\t--no_f\t", ["logs", "train", "--no_follow"]),
        ("launch --prof\two\twa\t--tas\t3 sw\t", ["--profile=work", "wait", "--task=3", "sweep.2"]),
        ("launch --bundler_type=no\t--prof\two\t-- pytho", ["--bundler_type=none", "--profile=work", "--", "pytho"]),
        ("launch wait --profile ho\ttrai\t", ["wait", "--profile", "home-2", "train"]),
        ("bastion conf\tact\tho\t", ["config", "activate", "home-2"]),
        ("bastion create --pol\ticy=ax\t", ["create", "--policy=axlearn"]),
        ("bastion quota set qu\t", ["quota", "set", "quota.toml"]),
        ("bastion completion z\t", ["completion", "zsh"]),
    ],
)
def test_what_is_typed_becomes_whole_words(account: Account, shell: str, line: str, words: list[str]) -> None:
    assert account.typed(shell, line) == words


@pytest.mark.parametrize("shell", ASKED)
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("launch logs ", {"train", "test-a", "sweep.2"}),
        ("launch logs train ", set()),
        ("launch logs --task 3 te", {"test-a"}),
        ("launch logs --prof", {"--profile"}),
        ("launch ls --profile=", {"work", "home-2"}),
        ("launch --bundler_type n", {"none"}),
        ("bastion config ", {each.word for each in actions(bastion.TOOL)["config"]}),
        ("bastion config activate ", {"work", "home-2"}),
        ("bastion create --policy=", set(POLICIES)),
        ("bastion ", {each.word for each in commands(bastion.TOOL)}),
    ],
)
def test_what_is_offered_is_what_may_stand_there(account: Account, shell: str, line: str, words: set[str]) -> None:
    assert account.offered(shell, line) == words


@pytest.mark.parametrize("shell", ASKED)
def test_without_a_named_bastion_the_jobs_of_all_are_offered_and_without_a_cache_none(
    account: Account, shell: str
) -> None:
    del account.environ["BASTION_NAME"]
    assert account.offered(shell, "launch show ze") == {"zebra"}
    account.environ["XDG_CACHE_HOME"] = "/nowhere"
    account.environ["XDG_CONFIG_HOME"] = "/nowhere"
    assert account.offered(shell, "launch why z") == set()
    assert account.offered(shell, "launch why --profile=") == set()


@pytest.mark.parametrize("shell", SCRIPTS)
@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_every_command_and_flag_is_there(tool: Tool, shell: str) -> None:
    text = script(tool.name, shell)
    dashes = "-l " if shell == "fish" else "--"
    assert [command.name for command in tool.commands if command.name not in text] == []
    assert [f for each in flags(tool).values() for f in each if f"{dashes}{name(f)}" not in text] == []


def test_choices_are_what_the_code_knows() -> None:
    assert values(bastion.TOOL)["policy"] == POLICIES
    assert values(launch.TOOL)["class"] == CLASSES
    assert values(launch.TOOL)["bundler_type"] == tuple(KNOWN)
    for kind in KNOWN:
        image = ["image=gcr.io/a"] if kind in IMAGES else []
        assert settings_of(kind, image).kind == kind


def test_names_are_those_of_the_last_look_and_of_later_submits(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "bucket")
    folder = bench.home / "cache" / "bastion"

    def kept() -> list[str]:
        (file,) = (folder / "jobs").iterdir()
        assert [each.name for each in folder.iterdir()] == ["jobs"]
        return file.read_text().splitlines()

    bench.submit("--name=one", "--", "x")
    bench.submit("--name=two", "--", "x")
    bench.launch("--user_id=bob", "--project_id=nlp", "--bundler_type=none", "--name=three", "--", "x")
    assert kept() == ["three", "two", "one"]
    assert bench.launch("ls", "--user_id=alice").code == 0
    assert sorted(kept()) == ["one", "two"]
    next((folder / "jobs").iterdir()).write_text("".join(f"job{n}\n" for n in range(2 * NAMES_MAX)) + "$(rm -rf x)\n")
    bench.submit("--name=four", "--", "x")
    assert kept() == ["four", *(f"job{n}" for n in range(NAMES_MAX - 1))]


def test_a_cache_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "bucket")
    bench.environ["XDG_CACHE_HOME"] = "/dev/null"
    assert bench.submit("--name=one", "--", "x").code == 0
    assert bench.launch("ls").code == 0


def test_a_shell_that_we_do_not_know_is_answered_with_the_nearest(tmp_path: Path) -> None:
    said = Bench(tmp_path / "bucket").launch("completion", "zhs", "--json")
    assert (said.code, said.error) == (2, "'zhs' is not an action of launch completion; did you mean zsh?")
