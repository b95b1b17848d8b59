"""Blocks of the pages: each says its language, and what can be played is played."""

from __future__ import annotations

import re
import shlex

from markdown_it import MarkdownIt

from bastion.cli.terminal.parsing import parse
from tests.house.source import ROOT
from tests.house.test_pages import PAGES, TOOLS

LANGUAGES = {"bash", "console", "ini", "json", "python", "text", "toml", "yaml"}
"""`console` is played; `bash` is for what cannot be played here: clouds, other machines, other people's programs."""

UNPLAYED_MAX = 0.2
"""The largest part of all blocks with commands that may go unplayed."""


def fences(language: str = "") -> list[tuple[str, int, str, str]]:
    """(page, line, language, text) of every fenced block, or of those in one language."""
    return [
        (str(page.relative_to(ROOT)), token.map[0] + 1, token.info.strip(), token.content)
        for page in PAGES
        for token in MarkdownIt().parse(page.read_text())
        if token.type == "fence" and token.map and token.info.strip().startswith(language)
    ]


def test_every_block_says_its_language() -> None:
    directives = r"\{[a-z]+\}.*"
    assert [each[:3] for each in fences() if each[2] not in LANGUAGES and not re.fullmatch(directives, each[2])] == []


def test_every_console_block_is_where_it_is_played() -> None:
    played = re.compile(r"README\.md|docs/.+\.md")
    assert [each[:2] for each in fences("console") if not played.fullmatch(each[0])] == []


def test_what_is_typed_stands_in_console_blocks() -> None:
    assert [each[:3] for each in fences() if each[2] != "console" and re.search(r"^\$ ", each[3], re.MULTILINE)] == []
    assert [each[:2] for each in fences("console") if not each[3].startswith("$ ")] == []


def test_few_commands_go_unplayed_and_they_are_understood() -> None:
    unplayed = [(page, line, typed(text)) for page, line, _, text in fences("bash") if typed(text)]
    assert len(unplayed) <= UNPLAYED_MAX * len(fences("console"))
    for _, _, lines in unplayed:
        for line in lines:
            tool, *words = shlex.split(line, comments=True)
            parse(TOOLS[tool], words)


def typed(text: str) -> list[str]:
    """The lines that run one of our tools; a line that ends in a backslash goes on."""
    return re.findall(r"^(?:bastion|launch) .+$", text.replace("\\\n", " "), re.MULTILINE)
