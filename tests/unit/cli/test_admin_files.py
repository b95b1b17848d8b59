"""`bastion config edit|set` and `bastion quota edit`: checked, shown, agreed to, and never over somebody else's change.

The editors are real programs, of a line or two of shell.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from bastion.cli.bastion.create import store
from bastion.cli.bastion.tool import TOOL
from bastion.cli.terminal.main import run
from bastion.model.job.audit_line import split
from bastion.model.layout import CONFIG, QUOTA
from bastion.model.settings.config import parse
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from tests.support.bench import QUOTA as GOOD
from tests.support.bench import Said
from tests.support.world import NOON

SETTINGS = """\
# How team works.
poll = 1.0  # seconds
admins = ["alice"]

[capacity]
v4 = 8  # the rack on the left
"""


class Terminal(StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


@dataclass
class Team:
    """A bastion's part of a bucket, its two files written by hand, and an account."""

    folder: Path
    bucket: PrefixedBucket
    environ: dict[str, str]

    def bastion(self, *words: str, editor: str = "false", user: str = "alice") -> Said:
        """`bastion` with these words; `editor` is a shell script that gets the file as $1."""
        script = self.folder / "editor"
        script.write_text(f"#!/bin/sh\n{editor}\n")
        script.chmod(0o700)
        out, err = StringIO(), StringIO()
        environ = {**self.environ, "EDITOR": str(script), "BASTION_USER": user}
        code = run(TOOL, words, environ=environ, out=out, err=err)
        return Said(code, out.getvalue(), err.getvalue())

    def text(self, key: str = CONFIG) -> str:
        """A file without its byline."""
        return split(self.bucket.read(key).data.decode())[0]

    def kept(self, said: Said) -> Path:
        """The file that a command says to have kept."""
        return Path(said.err.split("your text is kept in ")[1].split(")")[0].strip())


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    drafts = tmp_path / "tmp"
    drafts.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(drafts))
    bucket = PrefixedBucket(LocalBucket(f"file://{tmp_path}/bucket", create=True), "team")
    bucket.write(CONFIG, SETTINGS.encode())
    bucket.write(QUOTA, GOOD.encode())
    environ = {"BASTION_NAME": "team", "BASTION_BUCKET": f"file://{tmp_path}/bucket", "XDG_CONFIG_HOME": str(tmp_path)}
    return Team(tmp_path, bucket, environ)


def test_a_setting_is_changed_and_comments_stay(team: Team) -> None:
    said = team.bastion("config", "set", "poll=0.5", "policy=axlearn", "capacity.cpu=4", "admins=alice,bob", "--yes")
    assert said.code == 0
    assert said.out == (
        "the config of bastion team is set: in force within 10 s; changes to capacity, runners and google take effect "
        "after a restart\n"
    )
    assert said.err.splitlines() == [
        "  poll: 1.0 -> 0.5",
        '  policy: "default" -> "axlearn"',
        '  admins: ["alice"] -> ["alice","bob"]',
        '  capacity: {"v4":8} -> {"v4":8,"cpu":4}',
        "affected: bob: an admin from now on; may stop everybody's jobs",
        "affected: changes to capacity, runners and google take effect after a restart",
    ]
    for comment in ("# How team works.\n", "poll = 0.5  # seconds\n", "v4 = 8  # the rack on the left\n"):
        assert comment in team.text()
    assert parse(team.text()).capacity == {"v4": 8, "cpu": 4}


def test_a_runners_own_table_is_reached_to_its_depth(team: Team) -> None:
    options = {"partition": "gpu", "sbatch": ["--time=3-00"], "gres": {"v100": "gpu:tesla", "a100": "gpu:ampere"}}
    words = ("partition=gpu", 'sbatch=["--time=3-00"]', "gres.v100=gpu:tesla", "gres.a100=gpu:ampere")
    assert team.bastion("config", "set", *(f"runner_options.slurm.{word}" for word in words), "--yes").code == 0
    assert parse(team.text()).runner_options == {"slurm": options}
    assert team.bastion("config", "set", 'runner_options.slurm.gres={h100 = "gpu"}', "--yes").code == 0
    assert parse(team.text()).runner_options == {"slurm": {**options, "gres": {"h100": "gpu"}}}
    assert team.bastion("config", "set", 'runner_options={slurm = {qos = "high"}}', "--yes").code == 0
    assert parse(team.text()).runner_options == {"slurm": {"qos": "high"}}
    wrong = team.bastion("config", "set", "runner_options.slurm.partiton=gpu", "--yes")
    assert "partiton is no option" in wrong.err
    both = team.bastion("config", "set", "poll=1", "poll.x=2", "--yes")
    assert (both.code, both.err) == (2, "error: poll.x and the whole table poll are both set; leave one out\n")


def test_a_table_is_replaced_as_a_whole(team: Team) -> None:
    assert team.bastion("config", "set", "capacity=cpu=4,tpu=2", "--yes").code == 0
    assert parse(team.text()).capacity == {"cpu": 4, "tpu": 2}


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["pol=1"], 1, "'pol' is not a setting; did you mean poll?"),
        (["poll=fast"], 1, "line 2: poll is 'fast'; use a number of seconds"),
        (["poll=0", "policy=axlern"], 1, "line 2: poll is 0; use 0.05 to 3600 seconds; line 4: policy is 'axlern'"),
        (["capacity=v4"], 1, "capacity has 'v4'; use KIND=N"),
        (["poll.x=1"], 1, "poll is no table"),
        (["poll"], 2, "'poll' sets nothing; use KEY=VALUE"),
        (["poll=1", "poll=2"], 2, "a setting is named twice"),
        ([], 2, "bastion config set takes KEY=VALUE..."),
        (["poll=1\npolicy = 'axlearn'"], 1, "poll is"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_and_nothing_is_written(
    team: Team, words: list[str], code: int, complaint: str
) -> None:
    said = team.bastion("config", "set", *words, "--yes")
    assert (said.code, said.err.count("\n")) == (code, 1)
    assert complaint in said.err
    assert team.bucket.read(CONFIG).data == SETTINGS.encode()


def test_nobody_is_changed_without_being_agreed_to(team: Team) -> None:
    assert team.bastion("config", "set", "poll=2").code == 2
    said = team.bastion("config", "edit", editor='touch "$0".ran')
    assert said.code == 2
    assert "--yes" in said.err
    assert not (team.folder / "editor.ran").exists()


def test_edit_puts_the_text_in_force_and_says_who_did(team: Team) -> None:
    said = team.bastion("config", "edit", "--yes", "--json", editor='sed -i.old "s/poll = 1.0/poll = 0.2/" "$1"')
    assert said.json == {"schema": 1, "diff": ["poll: 1.0 -> 0.2"], "affected": [], "warnings": []}
    assert team.text() == SETTINGS.replace("1.0", "0.2")
    _, byline = split(team.bucket.read(CONFIG).data.decode())
    assert byline
    assert byline.user == "alice"
    assert list((team.folder / "tmp").iterdir()) == []


def test_the_editor_sees_the_text_without_a_byline_in_a_private_file(team: Team) -> None:
    team.bastion("config", "set", "poll=2", "--yes")
    editor = 'cp "$1" "$0".seen; ls -ld "$(dirname "$1")" > "$0".mode'
    said = team.bastion("config", "edit", "--yes", editor=editor)
    assert (said.code, said.out) == (0, "")
    assert "stays as it is" in said.err
    assert (team.folder / "editor.seen").read_text() == SETTINGS.replace("1.0", "2")
    assert (team.folder / "editor.mode").read_text().startswith("drwx------")


def test_the_first_quota_begins_with_an_outline(team: Team) -> None:
    team.bucket.delete([QUOTA])
    said = team.bastion("quota", "edit", "--yes", editor='sed -i.old "s/# v4 = 8/v4 = 8/" "$1"')
    assert said.code == 0
    assert "total v4: 0 -> 8" in said.err
    assert "warning: v4: no project has a share of it" in said.err


def test_a_text_with_mistakes_is_kept_and_its_lines_are_told(team: Team) -> None:
    said = team.bastion("quota", "edit", "--yes", editor='sed -i.old "s/v4 = 0.5/v4 = 1.5/" "$1"')
    assert said.code == 1
    assert "line 12: project_resources.nlp.v4 is 1.5" in said.err
    assert "v4 = 1.5" in team.kept(said).read_text()
    assert stat.S_IMODE(team.kept(said).parent.stat().st_mode) == 0o700
    assert team.bucket.read(QUOTA).data == GOOD.encode()


def test_who_sits_there_may_mend_a_mistake_and_is_asked_before_the_change(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first time the editor leaves a mistake, the second time not; then nothing is agreed to, and then it is."""
    editor = 'if grep -q "poll = 0 " "$1"; then sed -i.old "s/poll = 0 /poll = 2 /" "$1"; ' \
             'else sed -i.old "s/poll = 1.0/poll = 0 /" "$1"; fi'  # fmt: skip
    monkeypatch.setattr("sys.stdin", Terminal("\nn\n"))
    said = team.bastion("config", "edit", editor=editor)
    assert said.code == 1
    assert "line 2: poll is 0; use 0.05 to 3600 seconds\nedit again? [Y/n]" in said.err
    assert "use this config for bastion team from now on? [y/N]" in said.err
    assert "error: nothing was done (your text is kept in " in said.err
    assert team.bucket.read(CONFIG).data == SETTINGS.encode()
    monkeypatch.setattr("sys.stdin", Terminal("y\ny\n"))
    assert team.bastion("config", "edit", editor=editor).code == 0
    assert parse(team.text()).poll == 2
    monkeypatch.setattr("sys.stdin", Terminal(""))
    assert team.bastion("config", "edit", editor='echo "poll = 7" > "$1"; echo x >> "$1"').code == 1


def test_creating_again_keeps_the_comments(team: Team) -> None:
    assert store(team.bucket, {"poll": 0.25, "capacity": {"cpu": 2}}, "alice", NOON) == [
        "poll = 0.25",
        "capacity = {'cpu': 2}",
    ]
    assert team.text() == SETTINGS.replace("1.0", "0.25").replace("v4 = 8  # the rack on the left", "cpu = 2")
    version = team.bucket.read(CONFIG).version
    assert store(team.bucket, {"poll": 0.25}, "bob", NOON) == []
    assert team.bucket.read(CONFIG).version == version


@pytest.mark.parametrize("key", [CONFIG, QUOTA])
def test_two_who_edit_at_once_lose_nothing(team: Team, key: str) -> None:
    """Bob's change arrives while alice's editor is open: she is told whose and which, and her text is kept."""
    tool, mine, theirs = {
        CONFIG: ("config", "s/poll = 1.0/poll = 0.2/", b'admins = ["alice", "bob"]\n'),
        QUOTA: ("quota", "s/v4 = 8/v4 = 4/", GOOD.replace("cpu = 4", "cpu = 6").encode()),
    }[key]
    (team.folder / "theirs").write_bytes(theirs)
    other = Team(team.folder / "other", team.bucket, team.environ)
    other.folder.mkdir()
    bob = other.folder / "bob.py"
    bob.write_text(
        "import sys\nfrom bastion.cli.bastion.tool import TOOL\nfrom bastion.cli.terminal.main import run\n"
        f"environ = {{**{team.environ!r}, 'EDITOR': 'cp {team.folder}/theirs', 'BASTION_USER': 'bob'}}\n"
        f"sys.exit(run(TOOL, ['{tool}', 'edit', '--yes'], environ=environ, out=sys.stdout, err=sys.stderr))\n"
    )
    said = team.bastion(
        tool, "edit", "--yes", editor=f'{sys.executable} {bob} > "$0".bob 2>&1 || exit 9\nsed -i.old "{mine}" "$1"'
    )
    assert said.code == 1, said
    assert "what bob changed meanwhile:" in said.err
    assert ('admins: ["alice"] -> ["alice","bob"]' if key == CONFIG else "total cpu: 4 -> 6") in said.err
    assert f"error: bob changed {key} meanwhile" in said.err
    assert team.text(key).encode() == theirs
    assert ("poll = 0.2" if key == CONFIG else "v4 = 4") in team.kept(said).read_text()


def test_an_editor_that_fails_changes_nothing(team: Team) -> None:
    said = team.bastion("config", "edit", "--yes", editor="exit 3")
    assert said.code == 1
    assert "ended with code 3; set VISUAL or EDITOR to another" in said.err
    assert list((team.folder / "tmp").iterdir()) == []
    for editor in ("/nowhere/edit --wait", "edit '"):
        team.environ["VISUAL"] = editor
        assert f"the editor {editor!r} cannot be started: " in team.bastion("config", "edit", "--yes").err
    del team.environ["VISUAL"]
    said = team.bastion("config", "edit", "--yes", editor='printf "\\377" > "$1"')
    assert "line 1: not UTF-8" in said.err
    assert team.bucket.read(CONFIG).data == SETTINGS.encode()


def interrupted(team: Team, script: str) -> Said:
    """`config edit` when the whole foreground group gets SIGINT, as from a terminal, once the editor made `ready`."""
    editor, ready = team.folder / "editor", team.folder / "ready"
    editor.write_text(f"#!/bin/sh\n{script.format(folder=team.folder)}\n")
    editor.chmod(0o700)
    argv = [sys.executable, "-I", "-m", "bastion", "bastion", "config", "edit", "--yes"]
    environ = {**os.environ, **team.environ, "EDITOR": str(editor), "TMPDIR": str(team.folder / "tmp")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(argv, env=environ, start_new_session=True, **pipes) as process:
        deadline = time.monotonic() + 180
        while not ready.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=180)
    return Said(process.returncode, out, err)


def test_ctrl_c_leaves_all_as_it_was_and_the_text_in_its_file(team: Team) -> None:
    said = interrupted(team, 'echo "# half" >> "$1"; touch {folder}/ready; exec sleep 1000')
    assert (said.code, said.out) == (130, "")
    assert "Traceback" not in said.err
    assert team.kept(said).read_text() == SETTINGS + "# half\n"
    assert team.bucket.read(CONFIG).data == SETTINGS.encode()


def test_ctrl_c_is_the_editors_own_while_it_is_there(team: Team) -> None:
    """As in vi, where it ends an insertion and not the editor."""
    script = (
        "trap 'touch {folder}/heard' INT; touch {folder}/ready; while [ ! -e {folder}/heard ]; do sleep 0.05; done; "
    )
    said = interrupted(team, script + 'sed -i.old "s/poll = 1.0/poll = 0.4/" "$1"')
    assert said.code == 0
    assert parse(team.text()).poll == 0.4


def test_show_tells_who_put_the_quota_there(team: Team) -> None:
    team.bastion("quota", "edit", "--yes", editor='sed -i.old "s/v4 = 8/v4 = 4/" "$1"', user="bob")
    shown = json.loads(team.bastion("quota", "show", "--json").out)
    assert (shown["by"], shown["text"]) == ("bob", GOOD.replace("v4 = 8", "v4 = 4"))
    assert "put there by bob at " in team.bastion("quota", "show").err
