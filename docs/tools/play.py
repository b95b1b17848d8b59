"""Play pages on this machine: `python -m docs.tools.play [--write] PAGE...`; without pages: all that can be played.

Each console block is typed into a shell, and what it prints is compared with what the page says (`docs.tools.pages`).
With `--write` the pages are changed to say what was printed. Exit code 1 if a page does not play as it is written.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from docs.tools.pages import Step, difference, rewritten, steps
from docs.tools.stage import Said, Stage, StageError, stage

ROOT = Path(__file__).resolve().parents[2]
LOOK_S = 0.5
PATIENCE_S = 180.0
IMPATIENCE_S = 3.0
"""How long to look again once something is not as the page says: what follows will often not be so, either."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A step that did not go as the page says: how, and what it printed instead."""

    step: Step
    what: str
    printed: tuple[str, ...]


def playable() -> list[Path]:
    """The README and the pages that have something to play."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if steps(page.read_text())]


def play(text: str, patience_s: float = PATIENCE_S) -> Iterator[Mismatch]:
    """Type all that a page says into one shell. Whatever does not go as it says, and what did not end with it."""
    played = steps(text)
    with stage() as here:
        try:
            for step in played:
                said = perform(here, step, patience_s)
                if what := _complaint(step, said):
                    patience_s = IMPATIENCE_S
                    yield Mismatch(step, what, said.lines)
        except StageError as error:
            yield Mismatch(step, str(error), ())
            return
        if left := here.leave():
            yield Mismatch(played[-1], "\n".join(["still runs after the page's end:", *left]), played[-1].output)


def told(page: Path, mismatch: Mismatch) -> str:
    """A mismatch as one reads it: page, line, command, difference."""
    name = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
    return f"{name}:{mismatch.step.line}: $ {mismatch.step.command}\n{mismatch.what}\n"


def perform(here: Stage, step: Step, patience_s: float = PATIENCE_S) -> Said:
    """What a command says. One that only looks may look again until it sees what the page shows."""
    deadline = time.monotonic() + patience_s
    while True:
        said = here.run(step.command)
        if not step.looks or not _complaint(step, said) or time.monotonic() > deadline:
            return said
        time.sleep(LOOK_S)


def _complaint(step: Step, said: Said) -> str:
    if what := difference(step, said.lines):
        return what
    return f"it exits with {said.code}" if said.code and not step.may_fail else ""


def main(argv: Sequence[str]) -> int:
    """Play the pages that are named. 0 if all of them go as they are written."""
    write = "--write" in argv
    pages = [Path(word).resolve() for word in argv if word != "--write"] or playable()
    code = 0
    for page in pages:
        text = page.read_text()
        mismatches = list(play(text, IMPATIENCE_S if write else PATIENCE_S))
        code = code or int(bool(mismatches))
        for mismatch in mismatches:
            print(told(page, mismatch), flush=True)
        if write and mismatches:
            page.write_text(rewritten(text, [(each.step, each.printed) for each in mismatches]))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
