"""Commands one after the other, each told with its time: what `make check` and `make night` are made of."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.house.source import ROOT


def run(stages: Mapping[str, Sequence[str]], environ: Mapping[str, str], at_once: int = 1) -> int:
    """Run all, also after one that failed, some at a time. The exit code is 1 if any failed."""
    begun = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        told = list(pool.map(lambda name: _run(name, stages[name], environ, quiet=at_once > 1), stages))
    print("---")
    for name, code, seconds in told:
        print(f"{'ok' if code == 0 else f'FAILED ({code})':12}{seconds:8.1f} s  {name}")
    ok = sum(code == 0 for _, code, _ in told)
    print(f"{ok} of {len(told)} ok in {time.monotonic() - begun:.0f} s")
    return int(ok < len(told))


def _run(name: str, argv: Sequence[str], environ: Mapping[str, str], *, quiet: bool) -> tuple[str, int, float]:
    """One of them; `quiet`: its output is shown when it ends, so that those of several do not mix."""
    begun, pipe = time.monotonic(), subprocess.PIPE if quiet else None
    if not quiet:
        print(f"--- {name}", flush=True)
    errors = subprocess.STDOUT if quiet else None
    done = subprocess.run(argv, cwd=ROOT, env=dict(environ), stdout=pipe, stderr=errors, text=True)
    if quiet:
        print(f"--- {name}\n{done.stdout}", end="", flush=True)
    return name, done.returncode, time.monotonic() - begun


def python(*words: str) -> list[str]:
    """A module of ours as a command."""
    return [sys.executable, "-m", *words]
