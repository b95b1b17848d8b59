"""The terminal session of the README as a picture: `python -m docs.tools.record` plays it and draws what was printed.

The session is a page like others, `session.md`: tests play it, and hold the picture to it. What is drawn here is one
real run of it, line by line in the order and, but for long waits, in the time in which it happened.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from docs.tools.pages import steps
from docs.tools.play import perform
from docs.tools.stage import stage

SESSION = Path(__file__).with_name("session.md")
PICTURE = Path(__file__).resolve().parents[1] / "static" / "session.svg"
WIDTH = 112
TYPING_S = 0.8
WAIT_MAX_S = 1.5

FOREIGN = re.compile(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", re.DOTALL)
"""The fonts that rich would have fetched from another host; the reader's own fixed-width font will do."""

APPEAR = """
    @keyframes appear { from { opacity: 0 } to { opacity: 1 } }
    @media (prefers-reduced-motion: no-preference) { .later { animation: appear .01s both } }
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """A command, what it printed, and how many seconds that took."""

    command: str
    printed: tuple[str, ...]
    took_s: float


def record() -> list[Scene]:
    """Play the session. Raises `StageError` if it breaks off."""
    scenes = []
    with stage() as here:
        for step in steps(SESSION.read_text()):
            began = time.monotonic()
            said = perform(here, step)
            scenes.append(Scene(step.command, said.lines, time.monotonic() - began))
    return scenes


def draw(scenes: Iterable[Scene]) -> str:
    """The session as an SVG that fetches nothing. Its lines appear one after the other, or at once for who wants no motion."""
    console = Console(width=WIDTH, record=True, file=StringIO(), force_terminal=True, color_system="truecolor")
    appears: list[float] = []
    now = -TYPING_S
    for scene in scenes:
        for line, pause in _lines(scene):
            now += pause
            rows = line.wrap(console, WIDTH, no_wrap=False)
            appears += [now] * len(rows)
            console.print(rows, soft_wrap=True)
    svg = console.export_svg(title="bastion", theme=MONOKAI, unique_id="session")
    return _timed(FOREIGN.sub("", svg).replace("<style>", "<style>" + APPEAR, 1), appears)


def _lines(scene: Scene) -> Iterable[tuple[Text, float]]:
    """What is seen of a scene, each line with the pause before it."""
    command, hash_, comment = scene.command.partition("  # ")
    yield Text.assemble(("$ ", "bold green"), (command, "bold"), (hash_ + comment, "dim")), TYPING_S
    for number, line in enumerate(scene.printed):
        yield Text(line), 0.0 if number else min(scene.took_s, WAIT_MAX_S)


def _timed(svg: str, appears: Sequence[float]) -> str:
    """Each row of text with the moment at which it appears."""

    def later(match: re.Match[str]) -> str:
        return f'{match[1]} later" style="animation-delay:{appears[int(match[3])]:.1f}s" {match[2]}line-{match[3]})"'

    return re.sub(r'(<text class="[\w-]+)" ([^>]*?clip-path="url\(#session-)line-(\d+)\)"', later, svg)


def main() -> int:
    """Record the session and draw it."""
    PICTURE.write_text(draw(record()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
