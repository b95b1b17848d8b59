"""What `bastion create` chooses where nobody says it, and what of a user's own choices it leaves alone."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from bastion.cli.bastion.parts import first_time
from bastion.cli.bastion.parts.first_time import ChosenDefaults
from bastion.cli.bastion.parts.profile_store import store
from bastion.cli.bastion.tool import TOOL
from bastion.cli.common.place import load_profiles, place_of
from bastion.cli.terminal.main import Call
from bastion.cli.terminal.output import Output
from bastion.cli.terminal.parsing import parse
from bastion.model.errors import UsageError


def call(home: Path, *words: str, **environ: str) -> Call:
    """A `bastion create` of this account."""
    line = parse(TOOL, ["create", *words])
    here = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "XDG_DATA_HOME": str(home / "data"), **environ}
    output = Output(StringIO(), StringIO(), json=False, environ=here)
    return Call(options=line.options, words=line.words, after=None, environ=here, output=output, given=line.given)


def kept(home: Path, *words: str, **environ: str) -> tuple[list[str], Any]:
    """What is said once such a bastion is there, and the profiles then."""
    made, chosen = first_time.completed(call(home, *words, **environ))
    told = first_time.keep(made, place_of(made, create=True), chosen)
    return told, load_profiles(made.environ)


def test_name_and_folder_are_chosen_where_nobody_says_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_time, "_name", lambda: "gpu-07")
    made, chosen = first_time.completed(call(tmp_path, "--local"))
    assert chosen == ChosenDefaults("gpu-07", f"{tmp_path}/data/bastion")
    assert (made.options.values["bastion"], made.options.values["bucket"]) == (
        "gpu-07",
        f"file://{tmp_path}/data/bastion",
    )
    told, profiles = kept(tmp_path, "--local")
    assert told == ["profile gpu-07 is active, so launch needs no flags: launch --follow -- python train.py"]
    assert profiles.active == "gpu-07"


@pytest.mark.parametrize(
    ("words", "environ", "chosen"),
    [
        (("--local", "--bastion=b", "--bucket=file:///x"), {}, ChosenDefaults()),
        (("--local",), {"BASTION_NAME": "b", "BASTION_BUCKET": "file:///x"}, ChosenDefaults()),
        (("--local", "--bucket=file:///x"), {}, ChosenDefaults(name="here")),
        (("--capacity=v4=8",), {}, ChosenDefaults()),
    ],
)
def test_what_somebody_says_is_not_chosen(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    environ: dict[str, str],
    chosen: ChosenDefaults,
) -> None:
    monkeypatch.setattr(first_time, "_name", lambda: "here")
    assert first_time.completed(call(tmp_path, *words, **environ))[1] == chosen


def test_an_active_profile_stays_active(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_time, "_name", lambda: "here")
    store(call(tmp_path).environ, {"active": "work", "profiles": {"work": {"user_id": "ada"}}})
    told, profiles = kept(tmp_path, "--local")
    assert told == ["profile work stays active; to use this bastion: bastion config activate here"]
    assert (profiles.active, sorted(profiles.named)) == ("work", ["here", "work"])


def test_a_profile_of_that_name_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_time, "_name", lambda: "here")
    store(call(tmp_path).environ, {"profiles": {"here": {"bucket": "gs://team", "bastion": "team"}}})
    told, profiles = kept(tmp_path, "--local")
    assert told[0].startswith("profile here has other values and stays as it is; use --bastion=here --bucket=file://")
    assert profiles.named["here"].values["bucket"] == "gs://team"


@pytest.mark.parametrize(
    ("host", "name"),
    [("GPU-07.lab.example", "gpu-07"), ("my_host", "my-host"), ("...", "default"), ("x" * 80, "x" * 63)],
)
def test_the_name_is_the_hosts(monkeypatch: pytest.MonkeyPatch, host: str, name: str) -> None:
    monkeypatch.setattr("os.uname", lambda: type("Uname", (), {"nodename": host}))
    assert first_time._name() == name


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--partition=p"], "--partition needs --runner=slurm"),
        (["--runner=ray", "--partition=p"], "--partition needs --runner=slurm"),
        (["--dashboard=http://x", "--local"], "--dashboard needs --runner=ray"),
        (["--runner=slurm", "--local"], "--local and --runner=slurm are two fleets"),
        (["--runner=slrum"], "--runner is 'slrum'; use kubernetes, slurm, ray"),
    ],
)
def test_flags_of_two_fleets_are_refused(tmp_path: Path, words: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        first_time.completed(call(tmp_path, *words))


def test_an_engine_keeps_the_settings_that_it_had(tmp_path: Path) -> None:
    before = {"slurm": {"account": "ml"}, "ray": {"python": "/x"}}
    said = first_time.engine_settings(call(tmp_path, "--runner=slurm", "--partition=p"), before)
    assert said == {
        "runners": ["slurm"],
        "runner_options": {"slurm": {"account": "ml", "partition": "p"}, "ray": {"python": "/x"}},
    }
    said = first_time.engine_settings(call(tmp_path, "--runner=ray", "--dashboard=http://h:1"), {})
    assert said == {"runners": ["ray"], "runner_options": {"ray": {"address": "http://h:1"}}}


def test_an_engine_that_does_not_answer_is_said_before_anything_is_stored(tmp_path: Path) -> None:
    from bastion.cli.bastion.create import run

    out, err = StringIO(), StringIO()
    made = call(
        tmp_path, "--runner=ray", "--dashboard=http://127.0.0.1:9", "--bastion=b", f"--bucket=file://{tmp_path}/k"
    )
    with pytest.raises(UsageError, match=r"ray does not answer, so nothing was stored: .*127\.0\.0\.1:9"):
        run(made)
    assert not (tmp_path / "k" / "b" / "config.toml").exists()
    assert (out.getvalue(), err.getvalue()) == ("", "")
