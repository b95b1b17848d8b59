"""`make check`: the loop of a developer, less than a minute on two cores, without a service and without root.

What changed since the branch left `main` is linted, types are checked, unit tests run with few examples of each property, and
60 worlds are simulated.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests import depth
from tests.house.source import ROOT
from tests.support.stages import python, run

SEEDS, STEPS = 60, 80
WORKERS = 2


def changed() -> list[str]:
    """Python files that differ from `main`, or from the last commit where there is no other `main`."""
    left = _git("merge-base", "HEAD", "main") or _git("rev-parse", "HEAD")
    differ = _git("diff", "--name-only", "-z", left) if left else ""
    names = f"{differ}\0{_git('ls-files', '-zo', '--exclude-standard')}".split("\0")
    return sorted({name for name in names if name.endswith(".py") and (ROOT / name).is_file()})


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def main() -> int:
    """0 if all is well."""
    files = changed()
    linted = {
        "style of what changed": python("ruff", "check", *files),
        "form of what changed": python("ruff", "format", "--check", *files),
    }
    return run(
        {
            **(linted if files else {}),
            "unit tests": python("pytest", "-n", str(WORKERS), "--dist=worksteal", "tests/unit"),
            "types": python("mypy"),
            f"{SEEDS} worlds": python("tests.simulation.main", f"--seeds={SEEDS}", f"--steps={STEPS}"),
        },
        {**os.environ, depth.NAME: "check"},
        at_once=2,
    )


if __name__ == "__main__":
    sys.exit(main())
