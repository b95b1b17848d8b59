"""`bastion config` on a file of profiles: written whole, for its owner only, and with the owner's comments."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from bastion.cli.bastion.tool import TOOL
from bastion.cli.terminal.main import run
from bastion.model.settings.config import Config, render
from tests.support.bench import Bench, Said

WRITTEN = """\
# My places.
active = "work"

[profiles.work]  # the cluster
bucket = "gs://team"
bastion = "team"

# this laptop
[profiles.home]
bastion = "mine"
"""


@dataclass(frozen=True)
class Home:
    """An account with nothing but its configuration folder."""

    folder: Path
    environ: dict[str, str]

    @property
    def file(self) -> Path:
        """Where profiles lie."""
        return self.folder / "config" / "bastion" / "config.toml"

    def write(self, text: str) -> None:
        """Put a file there by hand."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(text)

    def config(self, *words: str) -> Said:
        """`bastion config` with these words."""
        out, err = StringIO(), StringIO()
        code = run(TOOL, ["config", *words], environ=self.environ, out=out, err=err)
        return Said(code, out.getvalue(), err.getvalue())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "config")})


def test_the_first_profile_is_active_and_private(home: Home) -> None:
    said = home.config("add", "work", "--bucket=gs://team", "--bastion=team", "--project-id=nlp", "--user_id=alice")
    assert (said.code, said.out) == (0, f"profile work is created and active ({home.file})\n")
    assert stat.S_IMODE(home.file.stat().st_mode) == 0o600
    assert home.config("list", "--json").json == {
        "schema": 1, "file": str(home.file), "active": "work",
        "profiles": {"work": {"bucket": "gs://team", "bastion": "team", "project_id": "nlp", "user_id": "alice"}},
    }  # fmt: skip
    assert "activate home" in home.config("add", "home", "--bastion=mine").out
    rows = [line.split() for line in home.config("list").out.splitlines()]
    assert rows[1:] == [["-", "home", "-", "mine", "-", "-"], ["*", "work", "gs://team", "team", "nlp", "alice"]]


def test_comments_and_order_survive_every_change(home: Home) -> None:
    home.write(WRITTEN)
    home.config("add", "work", "--user_id=alice")
    home.config("activate", "home")
    text = home.file.read_text()
    assert text == WRITTEN.replace('active = "work"', 'active = "home"').replace(
        'bastion = "team"\n', 'bastion = "team"\nuser_id = "alice"\n'
    )
    home.config("remove", "home")
    assert "# this laptop" in home.file.read_text()
    assert home.config("list", "--json").json["active"] is None


def test_a_file_that_is_a_link_stays_one(home: Home) -> None:
    home.write(WRITTEN)
    target = home.file.rename(home.folder / "dotfiles.toml")
    home.file.symlink_to(target)
    home.config("activate", "home")
    assert home.file.is_symlink()
    assert 'active = "home"' in target.read_text()
    assert [each.name for each in home.file.parent.iterdir()] == ["config.toml"]


def test_what_is_not_there_is_answered_with_the_nearest_and_changes_nothing(home: Home) -> None:
    home.write(WRITTEN)
    for words in (("activate", "wrok"), ("remove", "wrok")):
        said = home.config(*words)
        assert said.code == 1
        assert "did you mean work?" in said.err
    assert "the profile's name is 'a b'" in home.config("add", "a b", "--bastion=x").err
    assert "profile new would be empty" in home.config("add", "new").err
    assert home.config("activate").code == 2
    assert "did you mean activate?" in home.config("activte", "work").err
    assert home.file.read_text() == WRITTEN


def test_a_typo_names_file_line_and_nearest_key(home: Home) -> None:
    home.write(WRITTEN.replace("bucket =", "bukcet ="))
    for words in (("list",), ("add", "x", "--bastion=b"), ("activate", "home")):
        said = home.config(*words)
        assert (said.code, said.err) == (
            1, f"error: {home.file}:5: 'bukcet' is not a key of a profile; did you mean bucket?\n"
        )  # fmt: skip


def test_a_file_that_cannot_be_read_is_one_line(home: Home) -> None:
    home.file.mkdir(parents=True)
    said = home.config("list")
    assert said.code == 1
    assert said.err.startswith(f"error: {home.file} cannot be read: Is a directory; ")
    home.file.rmdir()
    home.file.write_bytes(b"\xff")
    assert "is not UTF-8" in home.config("list").err


def test_without_a_file_there_is_none(home: Home) -> None:
    assert "there is no profile in" in home.config("list").out
    assert home.config("list", "--json").json["profiles"] == {}
    assert not home.file.parent.exists()


def test_show_says_who_says_what_and_what_the_bastion_is_set_to(home: Home) -> None:
    (home.folder / "bucket" / "team").mkdir(parents=True)
    (home.folder / "bucket" / "team" / "config.toml").write_text(render(Config(poll=0.5)))
    home.write(WRITTEN.replace("gs://team", f"file://{home.folder}/bucket"))
    said = home.config("show", "--user_id=alice")
    assert said.code == 0
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    assert lines[:5] == [
        "Values that this call uses:",
        f"bucket file://{home.folder}/bucket profile work",
        "bastion team profile work",
        "project_id - not set",
        "user_id alice --user_id",
    ]
    assert lines[5] == f"Settings of bastion team, in file://{home.folder}/bucket/team/config.toml:"
    assert "poll = 0.5" in lines
    home.environ["BASTION_PROFILE"] = "home"
    shown = home.config("show", "--json").json
    assert (shown["profile"], shown["values"]["bastion"]) == ("home", {"value": "mine", "source": "profile home"})
    assert shown["config"] is None
    assert "profile home names no bucket" in shown["problem"]


def test_launch_goes_by_the_active_profile_and_by_one_that_is_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "bucket")
    bench.environ = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    home = Home(tmp_path, bench.environ)
    home.config("add", "work", f"--bucket={tmp_path}/bucket", "--bastion=b", "--project_id=vision", "--user_id=bob")
    home.config("add", "other", f"--bucket={tmp_path}/bucket", "--bastion=b", "--user_id=alice")
    assert bench.launch("--name=one", "--bundler_type=none", "--", "x").code == 0
    assert bench.launch("--name=two", "--bundler_type=none", "--profile=other", "--", "x").code == 0
    bench.environ["BASTION_PROFILE"] = "othr"
    assert "BASTION_PROFILE names the profile 'othr'" in bench.launch("ls", "--json").error
    del bench.environ["BASTION_PROFILE"]
    rows = bench.launch("ls", "--all", "--json").json["jobs"]
    assert {(row["name"], row["user"], row["project"]) for row in rows} == {
        ("one", "bob", "vision"), ("two", "alice", "nlp")
    }  # fmt: skip
    assert [row["name"] for row in bench.launch("ls", "--json").json["jobs"]] == ["one"]


def test_a_broken_file_is_in_nobodys_way_who_says_all(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "bucket")
    Home(tmp_path / "home", bench.environ).write("what is this")
    assert bench.launch("ls", "--user_id=alice", "--json").code == 0
    said = bench.launch("ls", "--json")
    assert said.code == 1
    assert "config.toml:1: not TOML" in said.error
