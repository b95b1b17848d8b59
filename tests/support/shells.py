"""Real shells, with somebody who types words and TAB: what would be run in the end."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

SHELLS = [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell)]
"""`.ci/install` installs all three; elsewhere those are tried that are there."""

PROMPT = "ready> "
PATIENCE_S = 180.0

_TOOL = """
{script}
{tool}() {{ printf '<%s>' "$@"; printf ' END\\n'; }}
"""
_STARTS = {
    "bash": ("bash --noprofile --rcfile {rc} -i", f"PS1='{PROMPT}'{_TOOL}"),
    "zsh": ("zsh -d -i", f"PS1='{PROMPT}'; autoload -Uz compinit; compinit -D -u{_TOOL}"),
}


def typed(shell: str, script: str, tool: str, line: str, *, environ: Mapping[str, str], folder: Path) -> list[str]:
    """The words that this shell hands to the tool when `line` was typed, its TABs included, and Enter."""
    argv, text = _STARTS[shell]
    rc = folder / ".zshrc"
    rc.write_text(text.format(script=script, tool=tool))
    ours = {"TERM": "vt100", "ZDOTDIR": str(folder), "PATH": os.environ["PATH"], "HOME": str(folder), **environ}
    terminal, other = pty.openpty()
    with subprocess.Popen(
        argv.format(rc=rc).split(),
        stdin=other,
        stdout=other,
        stderr=other,
        env=ours,
        cwd=folder,
        start_new_session=True,
    ) as process:
        os.close(other)
        try:
            _until(terminal, PROMPT)
            os.write(terminal, f"{line}\n".encode())
            said = _until(terminal, " END")
        finally:
            process.kill()
            os.close(terminal)
    return re.findall(r"<([^<>]*)>", said[said.rindex("\n", 0, said.rindex(" END")) :])


def offered(shell: str, script: str, tool: str, line: str, *, environ: Mapping[str, str], folder: Path) -> list[str]:
    """What bash or fish would offer for the last word of `line`, asked without a terminal."""
    file = folder / f"{tool}.{shell}"
    file.write_text(script)
    asked = {
        "bash": f"source {file}; COMP_LINE={_quoted(line)}; COMP_POINT=${{#COMP_LINE}}; _{tool}; "
        'printf "%s\\n" "${COMPREPLY[@]}"',
        "fish": f"source {file}; complete -C {_quoted(line)} | string split -f1 \\t",
    }
    start: Sequence[str] = {"bash": ["bash", "--norc"], "fish": ["fish", "--no-config"]}[shell]
    ours = {"PATH": os.environ["PATH"], "HOME": str(folder), **environ}
    said = subprocess.run(
        [*start, "-c", asked[shell]], env=ours, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert said.stderr == ""
    return said.stdout.split()


def _until(terminal: int, text: str) -> str:
    """What was said up to this text, which begins no line that was typed."""
    said, deadline = "", time.monotonic() + PATIENCE_S
    while text not in said:
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, said
        said += os.read(terminal, 65536).decode("utf-8", "replace")
    return said


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
