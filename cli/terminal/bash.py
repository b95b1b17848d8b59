"""The completion script for bash 3.2 and later. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import completions
from .flags import Flag, Tool

_SCRIPT = r"""# Completion of @TOOL@ in bash. Made by: @TOOL@ completion bash
_@TOOL@_jobs() {
    cat "${XDG_CACHE_HOME:-$HOME/.cache}"/bastion/jobs/${BASTION_NAME:-*}-???????? 2>/dev/null
}

_@TOOL@_profiles() {
    sed -n 's/^ *\[profiles\.\([A-Za-z0-9_-]*\)\].*/\1/p' "${XDG_CONFIG_HOME:-$HOME/.config}/bastion/config.toml" 2>/dev/null
}

_@TOOL@_offer() {  # what one word may be that begins with $1: the words or the kind in $2
    local each
    case $2 in
        files)
            compopt -o filenames 2>/dev/null
            while IFS= read -r each; do COMPREPLY+=("$each"); done < <(compgen -f -- "$1") ;;
        jobs | profiles)
            while read -r each; do [[ $each == "$1"* ]] && COMPREPLY+=("$each"); done < <("_@TOOL@_$2") ;;
        *)
            for each in $2; do [[ $each == "$1"* ]] && COMPREPLY+=("$each"); done ;;
    esac
    if [[ ${#COMPREPLY[@]} -gt 0 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
    return 0
}

_@TOOL@() {
    local line=${COMP_LINE:0:COMP_POINT} words command="" action="" flag="" word i offer="" whole=""
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    local last=$((${#words[@]} - 1))
    local current=${words[last]}
    COMPREPLY=()
    for ((i = 1; i < last; i++)); do
        word=${words[i]}
        if [[ -n $flag ]]; then flag=""; continue; fi
        case $word in
            --)
                if ((i == last - 1)); then
                    while read -r word; do COMPREPLY+=("$word"); done < <(compgen -c -- "$current")
                else
                    _@TOOL@_offer "$current" files
                fi
                return 0 ;;
            -*=*) ;;
            -*)
                word=${word#-}; word=${word#-}; word=${word//-/_}
                case " @VALUED@ " in *" $word "*) flag=$word ;; esac ;;
            *)
                if [[ -z $command ]]; then command=$word; elif [[ -z $action ]]; then action=$word; fi ;;
        esac
    done
    if [[ -z $flag && $current == -*=* ]]; then
        word=${current%%=*}; flag=${word#-}; flag=${flag#-}; flag=${flag//-/_}
        [[ $COMP_WORDBREAKS == *=* ]] || whole=$word=
        current=${current#*=}
    fi
    if [[ -n $flag ]]; then
        case $flag in
@VALUES@
        esac
    elif [[ $current == -* ]]; then
        case $command in
@FLAGS@
        esac
    else
        case $command/$action in
@WORDS@
        esac
    fi
    _@TOOL@_offer "$current" "$offer"
    if [[ -n $whole ]]; then COMPREPLY=("${COMPREPLY[@]/#/$whole}"); fi
}

complete -F _@TOOL@ @TOOL@
"""


def script(tool: Tool) -> str:
    """Return the whole script."""
    flags = {name: " ".join(map(_flag, each)) for name, each in completions.flags(tool).items()}
    words = {"/": _words(completions.commands(tool))}
    words |= {f"{name}/": _words(known) for name, known in completions.actions(tool).items()}
    words |= {f"{at.command}/{at.action}{'*' if at.many else ''}": at.kind for at in completions.places(tool)}
    parts = {
        "@TOOL@": tool.name,
        "@VALUED@": " ".join(completions.valued(tool)),
        "@VALUES@": _cases({name: " ".join(each) for name, each in completions.values(tool).items()}),
        "@FLAGS@": _cases({**{name: text for name, text in flags.items() if name}, "*": flags[""]}),
        "@WORDS@": _cases(words),
    }
    text = _SCRIPT
    for mark, part in parts.items():
        text = text.replace(mark, part)
    return text


def _flag(flag: Flag[Any]) -> str:
    return f"--{completions.name(flag)}{'=' if completions.takes(flag) else ''}"


def _words(known: Iterable[completions.Completion]) -> str:
    return " ".join(each.word for each in known)


def _cases(rows: Mapping[str, str]) -> str:
    return "\n".join(f'            {pattern}) offer="{words}" ;;' for pattern, words in rows.items())
