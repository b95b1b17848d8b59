"""Console blocks of a Markdown page: what they say is typed and printed, and whether a run printed the same. Pure.

A line that begins with `$ ` is typed, with the `> ` lines right after it; what follows is printed. Three rules compare:

- What differs from run to run is compared by its form, see `FORMS`: one time is as good as another.
- `…` stands for what the page leaves out: within a line for any text, as a whole line for any number of lines.
- Runs of spaces count as one, since the width of a table's columns depends on what stands in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import zip_longest

from markdown_it import MarkdownIt

LEFT_OUT = "…"
_SPAN = r"\d+(?:\.\d+)? ?(?:ms|min|s|m|h|d)"

FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("<time>", re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")),
    ("<clock>", re.compile(r"\b(?:\d{4}-\d\d-\d\d )?\d\d:\d\d UTC\b")),  # of another day with its date
    ("<date>", re.compile(r"\b\d{4}-\d\d-\d\d\b(?: \d\d:\d\d(?::\d\d)?)?")),
    ("<digest>", re.compile(r"\b[0-9a-f]{12,64}\b")),
    ("-<id>", re.compile(r"-[0-9a-f]{8}\b")),
    ("pid <pid>", re.compile(r"\bpid \d+(?: on [\w.-]+)?")),
    ("<duration>", re.compile(rf"\b{_SPAN}(?: ?{_SPAN})*\b")),
    ("KiB: <size>", re.compile(r"\bKiB: [\d.]+")),
    (" ", re.compile(r" +")),
)
"""What differs from run to run, with the name of each form, in the order in which they are looked for."""

LOOKS = re.compile(
    r"launch (?:ls|why|show|history|diff)\b|launch logs\b.* --no_follow\b"
    r"|bastion (?:status|usage|history|doctor|(?:quota|config) (?:show|history)|logs(?! --follow))\b"
)
"""Commands that change nothing and do not wait: one may look again, until there is to see what the page shows."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a page and what the page says that it prints.

    `line` is where it stands, counted from 1; `begin` and `end` are the lines of the output, counted from 0.
    """

    line: int
    command: str
    output: tuple[str, ...]
    begin: int
    end: int
    indent: str = ""
    may_fail: bool = False

    @property
    def looks(self) -> bool:
        """It changes nothing, and may be asked again."""
        return LOOKS.match(self.command) is not None


def steps(text: str) -> list[Step]:
    """All that is typed into the console blocks of a page, in its order."""
    fences = (token for token in MarkdownIt().parse(text) if token.type == "fence" and token.info.strip() == "console")
    found: list[Step] = []
    for fence in fences:
        assert fence.map is not None
        first = fence.map[0] + 1
        source = text.splitlines()[first]
        indent = source[: len(source) - len(source.lstrip())]
        found += _steps(fence.content.splitlines(), first, indent)
    return [_judged(step, after) for step, after in zip_longest(found, found[1:])]


def difference(step: Step, printed: Sequence[str]) -> str:
    """What a run printed that the page does not say, or the other way round, as a diff; empty if they agree."""
    if _pattern(step.output).fullmatch("".join(f"{_formed(line)}\n" for line in printed)):
        return ""
    known = [(line, _pattern([line])) for line in step.output if line.strip() != LEFT_OUT]
    shown = [next((said for said, pattern in known if _says(pattern, line)), line) for line in printed]
    return "\n".join(unified_diff(step.output, shown, "the page", "this run", lineterm=""))


def rewritten(text: str, corrections: Iterable[tuple[Step, Sequence[str]]]) -> str:
    """The page with what a run printed in place of what it said."""
    lines = text.splitlines()
    for step, printed in sorted(corrections, key=lambda each: each[0].line, reverse=True):
        lines[step.begin : step.end] = [(step.indent + line).rstrip() for line in printed]
    return "\n".join(lines) + "\n"


def _steps(lines: Sequence[str], first: int, indent: str) -> Iterator[Step]:
    """The steps of one block, whose first line has this number in its page."""
    starts = [at for at, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip_longest(starts, starts[1:], fillvalue=len(lines)):
        begin = start + 1
        while begin < end and (lines[begin].startswith("> ") or lines[begin] == ">"):
            begin += 1
        command = "\n".join(line[2:] for line in lines[start:begin])
        output = tuple(lines[begin:end])
        yield Step(first + start + 1, command, output, first + begin, first + end, indent)


def _judged(step: Step, after: Step | None) -> Step:
    """A command may fail where the page says so: by its message, or by asking for the exit code next."""
    shown = any(line.startswith("error: ") for line in step.output)
    asked = after is not None and after.command.startswith("echo $?")
    return Step(step.line, step.command, step.output, step.begin, step.end, step.indent, may_fail=shown or asked)


def _formed(line: str) -> str:
    for name, form in FORMS:
        line = form.sub(name, line)
    return line.strip()


def _pattern(said: Sequence[str]) -> re.Pattern[str]:
    """What may be printed where the page says this."""
    return re.compile("".join(_line(line) for line in said))


def _line(said: str) -> str:
    if said.strip() == LEFT_OUT:
        return r"(?:.*\n)*?"
    return ".*?".join(re.escape(part) for part in _formed(said).split(LEFT_OUT)) + r"\n"


def _says(pattern: re.Pattern[str], printed: str) -> bool:
    return pattern.fullmatch(f"{_formed(printed)}\n") is not None
