"""The site builds without a warning, and a real browser finds nothing wrong with it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, ViewportSize, sync_playwright

from tests.house.source import ROOT

PATIENCE_MS = 180_000
NARROW: ViewportSize = {"width": 400, "height": 800}
WIDE: ViewportSize = {"width": 1280, "height": 800}
LEFT = "net::ERR_ABORTED"
"""What becomes of a request when one goes on to another page before it is answered."""

SECLUDED = ("--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")

CONTRASTS = """() => {
  const light = rgb => rgb.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const parts = text => text.match(/[0-9.]+/g).map(Number);
  const behind = node => {
    const color = parts(getComputedStyle(node).backgroundColor);
    return color.length < 4 || color[3] > 0 || !node.parentElement ? color : behind(node.parentElement);
  };
  return [...document.querySelectorAll('.highlight pre, .highlight pre span')].filter(node => node.innerText.trim())
    .map(node => [light(parts(getComputedStyle(node).color).slice(0, 3)), light(behind(node).slice(0, 3)), node.innerText])
    .map(([a, b, text]) => [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), text]);
}"""
"""Of each piece of code the contrast between it and what is behind it, from 1 to 21, as WCAG defines it."""


TOO_WIDE = """() => [...document.querySelectorAll('html, body, .page, .main, .content, article p, article li')]
  .filter(node => node.clientWidth > 0 && node.scrollWidth > node.clientWidth + 1).map(node => node.tagName)"""
"""What one would have to scroll sideways to read. Tables and code may, each by itself."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing about it."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    argv = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", "-b", "html", "-d"]
    said = subprocess.run([*argv, folder / "seen", ROOT / "docs", folder / "html"], capture_output=True, text=True)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
    return folder / "html"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where it is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, without a window and without a way out of this machine."""
    chromium = shutil.which("chromium")
    assert chromium, "there is no chromium; see what .ci/install installs"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=list(SECLUDED))
        yield running
        running.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A wide page whose every complaint fails the test."""
    wrong: list[str] = []

    def failed(request: Request) -> None:
        if request.failure != LEFT:
            wrong.append(f"{request.failure}: {request.url}")

    with browser.new_page(viewport=WIDE, base_url=address) as opened:
        opened.set_default_timeout(PATIENCE_MS)
        opened.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on("requestfailed", failed)
        opened.on("response", lambda it: wrong.append(f"{it.status}: {it.url}") if it.status >= 400 else None)
        opened.on("request", lambda it: None if it.url.startswith((address, "data:")) else wrong.append(it.url))
        yield opened
    assert wrong == []


def test_the_start_page_leads_on(page: Page) -> None:
    page.goto("/index.html")
    assert page.title() == "Bastion"
    page.get_by_role("link", name="tutorial", exact=True).first.click()
    page.wait_for_url("**/tutorial.html")
    page.locator(".sidebar-tree").get_by_role("link", name="Recover").click()
    page.wait_for_url("**/operate/recover.html")
    assert page.get_by_role("heading", level=1).inner_text().startswith("Recover")


def test_on_a_phone_the_menu_opens(page: Page) -> None:
    page.set_viewport_size(NARROW)
    page.goto("/index.html")
    page.locator("label.nav-overlay-icon:visible").click()
    page.locator(".sidebar-tree").get_by_role("link", name="Exit codes").click()
    page.wait_for_url("**/reference/exit-codes.html")


def test_the_search_finds_a_word(page: Page) -> None:
    page.goto("/index.html")
    page.get_by_role("textbox", name="Search").fill("preempted")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?*")
    page.locator("#search-results").get_by_role("link", name="States").first.wait_for()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_every_page_fits(page: Page, site: Path, size: ViewportSize) -> None:
    page.set_viewport_size(size)
    names = sorted(str(file.relative_to(site)) for file in site.rglob("*.html"))
    wide = {}
    for name in names:
        page.goto(f"/{name}")
        if found := page.evaluate(TOO_WIDE):
            wide[name] = found
    assert wide == {}
    assert len(names) > 30


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_code_can_be_read(page: Page, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    for name in ("tutorial", "share/quota-file", "extend/write-a-bundler"):
        page.goto(f"/{name}.html")
        contrasts = page.evaluate(CONTRASTS)
        assert len(contrasts) > 20
        assert [each for each in contrasts if each[0] < 4.5] == []
        assert page.evaluate("parseFloat(getComputedStyle(document.querySelector('.highlight pre')).fontSize)") >= 12


def test_the_site_asks_no_other_host_for_anything(site: Path) -> None:
    fetched = re.compile(r"""(?:src|@import|url\()\s*[=(]?\s*["']?(?:https?:)?//""")
    files = [file for file in site.rglob("*") if file.suffix in (".html", ".css", ".js")]
    assert [str(file) for file in files if fetched.search(file.read_text())] == []
    links = re.compile(r"<link[^>]+href=\"(?:https?:)?//")
    assert [str(file) for file in files if file.suffix == ".html" and links.search(file.read_text())] == []
