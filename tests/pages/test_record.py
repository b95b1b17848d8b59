"""The picture of the README shows the session that is played, and fetches nothing."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from docs.tools.pages import Step, difference, steps
from docs.tools.record import PICTURE, SESSION, Scene, draw

BYTES_MAX = 200_000


def rows(svg: str) -> list[str]:
    """The text of a picture, row by row, without its title."""
    found: dict[int, str] = {}
    for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        if number := re.search(r"line-(\d+)", text.get("clip-path", "")):
            found[int(number[1])] = found.get(int(number[1]), "") + (text.text or "").replace("\xa0", " ")
    return [found[number].rstrip() for number in sorted(found)]


def test_the_picture_shows_the_session() -> None:
    said = [line for step in steps(SESSION.read_text()) for line in (f"$ {step.command}", *step.output)]
    shown = rows(PICTURE.read_text())
    assert difference(Step(1, "", (" ".join(said),), 0, 0), [" ".join(shown)]) == ""


def test_the_picture_is_small_and_fetches_nothing() -> None:
    svg = PICTURE.read_text()
    assert len(svg) < BYTES_MAX
    assert re.findall(r"https?://[^\s\"]+", svg) == ["http://www.w3.org/2000/svg"]


def test_lines_appear_when_they_were_printed() -> None:
    svg = draw([Scene("one", ("a", "b"), 0.5), Scene("two", ("c",), 100.0)])
    assert rows(svg) == ["$ one", "a", "b", "$ two", "c"]
    delays = re.findall(r"animation-delay:([\d.]+)s[^>]+line-(\d+)", svg)
    assert sorted({(int(row), float(delay)) for delay, row in delays}) == [
        (0, 0.0),
        (1, 0.5),
        (2, 0.5),
        (3, 1.3),
        (4, 2.8),
    ]
