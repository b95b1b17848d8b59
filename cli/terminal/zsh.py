"""The completion script for zsh. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import completions
from .completions import Completion
from .flags import Flag, Tool

_SCRIPT = r"""#compdef @TOOL@
# Completion of @TOOL@ in zsh. Made by: @TOOL@ completion zsh
_@TOOL@_offer() {  # a word of this kind
    local -a found
    case $1 in
        files) _files; return ;;
        jobs)
            local -a caches=("${XDG_CACHE_HOME:-$HOME/.cache}"/bastion/jobs/${~BASTION_NAME:-*}-????????(N))
            (($#caches)) && found=(${(f)"$(cat $caches)"}) ;;
        profiles)
            local file=${XDG_CONFIG_HOME:-$HOME/.config}/bastion/config.toml
            [[ -r $file ]] && found=(${(f)"$(sed -n 's/^ *\[profiles\.\([A-Za-z0-9_-]*\)\].*/\1/p' $file)"}) ;;
        *) found=(${=1}) ;;
    esac
    compadd -V @TOOL@ -a found
}

_@TOOL@() {
    local command="" action="" flag="" word i
    local -a switches valued words_
    for ((i = 2; i < CURRENT; i++)); do
        word=$words[i]
        if [[ -n $flag ]]; then flag=""; continue; fi
        case $word in
            --) shift $i words; ((CURRENT -= i)); _normal; return ;;
            -*=*) ;;
            -*)
                word=${${word#-}#-}; word=${word//-/_}
                [[ " @VALUED@ " == *" $word "* ]] && flag=$word ;;
            *)
                if [[ -z $command ]]; then command=$word; elif [[ -z $action ]]; then action=$word; fi ;;
        esac
    done
    if [[ -z $flag && $PREFIX == -*=* ]]; then
        word=${PREFIX%%=*}; flag=${${word#-}#-}; flag=${flag//-/_}
        compset -P '*='
    fi
    if [[ -n $flag ]]; then
        case $flag in
@VALUES@
        esac
        return
    fi
    if [[ $PREFIX == -* ]]; then
        case $command in
@FLAGS@
        esac
        _describe -o flag valued -S '' -- switches
        return
    fi
    case $command/$action in
@WORDS@
    esac
    (($#words_)) && _describe word words_
}

if [[ $funcstack[1] == _@TOOL@ ]]; then _@TOOL@ "$@"; else compdef _@TOOL@ @TOOL@; fi
"""


def script(tool: Tool) -> str:
    """Return the whole script."""
    values = [f"{name}) {_offer(each)}" for name, each in completions.values(tool).items()]
    flags = completions.flags(tool)
    by_command = [f"{name or '*'}) {_flags(flags[name])}" for name in sorted(flags, reverse=True)]
    words = [f"/) {_array('words_', completions.commands(tool))}"]
    words += [f"{name}/) {_array('words_', known)}" for name, known in completions.actions(tool).items()]
    words += [
        f"{at.command}/{at.action}{'*' if at.many else ''}) {_offer((at.kind,))}; return"
        for at in completions.places(tool)
    ]
    parts = {
        "@TOOL@": tool.name,
        "@VALUED@": " ".join(completions.valued(tool)),
        "@VALUES@": _cases(values),
        "@FLAGS@": _cases(by_command),
        "@WORDS@": _cases(words),
    }
    text = _SCRIPT
    for mark, part in parts.items():
        text = text.replace(mark, part)
    return text.replace("@TOOL@", tool.name)


def _offer(what: tuple[str, ...]) -> str:
    return f"_@TOOL@_offer {_quoted(' '.join(what))}"


def _flags(flags: tuple[Flag[Any], ...]) -> str:
    switches = [Completion(f"--{completions.name(flag)}", flag.about) for flag in flags if not completions.takes(flag)]
    valued = [Completion(f"--{flag.name}=", flag.about) for flag in flags if completions.takes(flag)]
    return f"{_array('switches', switches)}; {_array('valued', valued)}"


def _array(name: str, known: Iterable[Completion]) -> str:
    texts = (f"{each.word.replace(':', chr(92) + ':')}:{completions.sentence(each.about)}" for each in known)
    return f"{name}=({' '.join(map(_quoted, texts))})"


def _cases(rows: Iterable[str]) -> str:
    return "\n".join(f"            {row} ;;" for row in rows)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
