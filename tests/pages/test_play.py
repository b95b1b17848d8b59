"""Every console block of every page does what the page says, in a sandbox of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.tools.play import ROOT, play, playable, told


@pytest.mark.parametrize("page", playable(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_plays_as_it_is_written(page: Path) -> None:
    mismatches = [told(page, each) for each in play(page.read_text())]
    assert not mismatches, "\n" + "\n".join(mismatches)
