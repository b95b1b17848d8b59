"""What tests need is installed by one script, which says clearly what it cannot install."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.house.source import ROOT


def test_what_is_missing_is_named_where_it_cannot_be_installed(tmp_path: Path) -> None:
    argv = ["/bin/bash", ROOT / ".ci" / "install", "engines"]
    said = subprocess.run(argv, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.startswith(
        "error: not installed: slurm-wlm munge slurmdbd mariadb-server-core mariadb-client-core"
    )
    assert "install them as root" in said.stderr


def test_nothing_is_installed_where_all_is_there(tmp_path: Path) -> None:
    for program in ("slurmctld", "slurmdbd", "mariadbd"):
        (tmp_path / program).touch(0o755)
    argv = ["/bin/bash", ROOT / ".ci" / "install", "engines"]
    said = subprocess.run(argv, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
