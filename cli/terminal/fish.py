"""The completion script for fish. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import completions
from .flags import Flag, Tool

_HEAD = r"""# Completion of @TOOL@ in fish. Made by: @TOOL@ completion fish
function __@TOOL@_jobs
    set -l cache ~/.cache
    set -q XDG_CACHE_HOME; and set cache $XDG_CACHE_HOME
    for file in $cache/bastion/jobs/*
        test -z "$BASTION_NAME"; or string match -q -- "$BASTION_NAME-????????" (basename $file); and cat $file
    end
end

function __@TOOL@_profiles
    set -l config ~/.config
    set -q XDG_CONFIG_HOME; and set config $XDG_CONFIG_HOME
    sed -n 's/^ *\[profiles\.\([A-Za-z0-9_-]*\)\].*/\1/p' $config/bastion/config.toml 2>/dev/null
end

function __@TOOL@_at  # true behind exactly these words, flags and their values left out
    set -l flag
    set -l found
    for word in (commandline -opc)[2..-1]
        if test -n "$flag"
            set flag
            continue
        end
        switch $word
            case --
                return 1
            case '-*=*'
            case '-*'
                set -l name (string replace -r '^--?' '' -- $word | string replace -a - _)
                contains -- "$name" @VALUED@; and set flag $name
            case '*'
                set -a found $word
        end
    end
    test "$found" = "$argv"
end

function __@TOOL@_of  # true if the first word is this command, or none if it is empty
    set -l command
    for word in (commandline -opc)[2..-1]
        test "$word" = --; and return 1
        if contains -- $word @COMMANDS@
            set command $word
            break
        end
    end
    test "$command" = "$argv"
end

complete -c @TOOL@ -f -n 'not contains -- -- (commandline -opc)'
"""


def script(tool: Tool) -> str:
    """Return the whole script."""
    text = "\n".join([_HEAD, *_rows(tool), ""])
    parts = {
        "@TOOL@": tool.name,
        "@VALUED@": " ".join(completions.valued(tool)),
        "@COMMANDS@": " ".join(command.name for command in tool.commands),
    }
    for mark, part in parts.items():
        text = text.replace(mark, part)
    return text


def _rows(tool: Tool) -> Iterator[str]:
    for each in completions.commands(tool):
        yield f"complete -c @TOOL@ -n '__@TOOL@_at' -a {each.word} -d {_quoted(each.about)}"
    for name, known in completions.actions(tool).items():
        for each in known:
            yield f"complete -c @TOOL@ -n '__@TOOL@_at {name}' -a {each.word} -d {_quoted(each.about)}"
    for at in completions.places(tool):
        test = f"__@TOOL@_of {at.command}" if at.many else f"__@TOOL@_at {at.command} {at.action}".rstrip()
        yield f"complete -c @TOOL@ -n '{test}' {_values((at.kind,))}"
    values = completions.values(tool)
    for name, flags in completions.flags(tool).items():
        for flag in flags:
            yield f"complete -c @TOOL@ -n '__@TOOL@_of {name}' {_flag(flag, values.get(flag.name))}"


def _flag(flag: Flag[Any], values: tuple[str, ...] | None) -> str:
    short = f"-s {flag.short} " if flag.short else ""
    row = f"{short}-l {completions.name(flag)} -d {_quoted(flag.about)}"
    if not completions.takes(flag):
        return row
    return f"{row} -r" if values is None else f"{row} -r {_values(values)}"


def _values(values: tuple[str, ...]) -> str:
    if values == (completions.FILES,):
        return "-F"
    kind = values[0] if values[0] in (completions.JOBS, completions.PROFILES) else ""
    return f"-f -a '(__@TOOL@_{kind})'" if kind else f"-f -a '{' '.join(values)}'"


def _quoted(text: str) -> str:
    escaped = completions.sentence(text).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
