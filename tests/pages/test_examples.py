"""The Python of the pages runs, block after block."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.test_blocks import fences

STRANGER = Path(__file__).parents[1] / "thirdparty"
"""The package that a page makes: what its later blocks import."""

PAGES = sorted({page for page, *_ in fences("python")})


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(STRANGER)
    space: dict[str, object] = {"__name__": "page"}
    for text in (text for name, _, _, text in fences("python") if name == page):
        exec(compile(text, page, "exec", dont_inherit=True), space)
