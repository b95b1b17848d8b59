"""The Python of the pages runs, block after block."""

from __future__ import annotations

import pytest

from tests.house.test_blocks import fences

PAGES = sorted({page for page, *_ in fences("python")})


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(page: str) -> None:
    code = "\n".join(text for name, _, _, text in fences("python") if name == page)
    exec(compile(code, page, "exec", dont_inherit=True), {"__name__": "page"})
