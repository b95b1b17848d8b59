"""Runners are found by the entry points of packages, and have their tables checked where they are installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bastion.cli.bastion.parts.config_file import checked, elsewhere
from bastion.cli.common import installed_runners
from bastion.model.errors import RecordError, UsageError
from bastion.model.settings.config import Config, render


def package(folder: Path, name: str, points: dict[str, str], **modules: str) -> None:
    """A package as an installer leaves it."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    rows = "".join(f"{runner} = {where}\n" for runner, where in points.items())
    (info / "entry_points.txt").write_text(f"[bastion.runners]\n{rows}")
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


MAKER = """
class Maker:
    def faults(self, options):
        if "boom" in options:
            raise OSError("disk on fire")
        return [f"{key} is no option" for key in options if key != "queue"]

MAKER = Maker()
"""


def test_ours_are_installed_as_a_strangers_are(site: Path) -> None:
    package(site, "acme-runner", {"acme": "acme_runner:MAKER"}, acme_runner=MAKER)
    assert {"acme", "gce", "local", "ray", "tpu"} <= installed_runners.installed().keys()
    assert installed_runners.maker("acme").__class__.__module__ == "acme_runner"
    assert installed_runners.maker("local").__class__.__module__ == "bastion.runners.local.fleet"


def test_a_runner_that_nobody_here_has_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"runners has 'locale', which is not installed here; did you mean local\?"):
        installed_runners.maker("locale")
    with pytest.raises(UsageError, match=r"runners has 'acme', which is not installed here; use .*local.*, or install"):
        installed_runners.maker("acme")
    assert list(installed_runners.faults(Config(runners=["tpu", "gcee"]))) == [
        "runners has 'gcee', which is not installed here; did you mean gce?"
    ]


def test_a_runners_own_table_is_checked_by_it_alone(site: Path) -> None:
    package(site, "acme-runner", {"acme": "acme_runner:MAKER"}, acme_runner=MAKER)
    options = {"acme": {"queue": "long", "quue": 1}, "local": {"x": 1}, "absent": {"anything": {"goes": 1}}}
    assert list(installed_runners.faults(Config(runners=["acme"], runner_options=options))) == [
        "runner_options.acme.quue is no option",
        "runner_options.local.x is no option; leave it out",
    ]


def test_a_package_that_falls_is_a_fault_of_the_settings_and_no_fall_of_ours(site: Path) -> None:
    points = {"acme": "acme_runner:MAKER", "gone": "no_such_module:MAKER", "torn": "torn_runner:MAKER"}
    package(site, "acme-runner", points, acme_runner=MAKER, torn_runner="1 / 0")
    settings = Config(runners=["acme", "gone", "torn"], runner_options={"acme": {"boom": 1}})
    acme, gone, torn = installed_runners.faults(settings)
    assert acme == "runner_options.acme cannot be checked: OSError('disk on fire')"
    assert gone.startswith("runners has 'gone', and its package cannot be loaded: ModuleNotFoundError(")
    assert torn.startswith("runners has 'torn', and its package cannot be loaded: ZeroDivisionError(")


def test_who_changes_settings_is_told_of_faults_and_warned_of_runners_that_are_elsewhere(site: Path) -> None:
    with pytest.raises(RecordError, match=r"config\.toml: runner_options\.local\.x is no option"):
        checked(render(Config(runner_options={"local": {"x": 1}})))
    there = checked(render(Config(runners=["acme", "local"], runner_options={"acme": {"queue": {"deep": [1, "a"]}}})))
    assert there.runner_options == {"acme": {"queue": {"deep": [1, "a"]}}}
    [warning] = elsewhere(there)
    assert warning.startswith(
        "runners has 'acme', which is not installed here; "
        "the bastion accepts these settings only if it is installed on its own machine; use "
    )
    [warning] = elsewhere(Config(runners=["locl"]))
    assert warning.endswith("on its own machine; did you mean local?")
