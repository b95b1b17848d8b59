"""Rules for what starts a process: a command, its setup and its variables. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..wording import shown
from . import secret_ref

ENV_MAX = 1_000
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")

SHELLS = ("", "bash", "sh")
"""The shells that a text can ask for. "": bash if the machine has it, else sh."""

# The worker sets these itself. A user's value would give the process a false identity.
IDENTITY = frozenset(
    "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_WORLD_SIZE ROLE_NAME "
    "MASTER_ADDR MASTER_PORT NODE_RANK NODE_NUM NODE_IP NNODES CUDA_VISIBLE_DEVICES "
    "TORCHELASTIC_RUN_ID TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS "
    "JAX_COORDINATOR_ADDRESS JAX_NUM_PROCESSES JAX_PROCESS_ID".split()
)


def command(value: list[str] | str) -> Iterator[str]:
    """Check a command; yield complaints."""
    words = [value] if isinstance(value, str) else value
    if not words or not words[0].strip():
        yield "is empty; say what to run"
    if any("\0" in word for word in words):
        yield "holds a NUL character"
    if sum(len(word.encode("utf-8", "surrogatepass")) for word in words) > 128 * 1024:
        yield "is longer than 128 KiB; put it into a script"


def setup(value: str) -> Iterator[str]:
    """Check a setup text; yield complaints."""
    if "\0" in value or len(value) > 32 * 1024 or (value and not value.strip()):
        yield "is blank, holds a NUL character or more than 32 KiB; put it into a script of the bundle"


def env(value: dict[str, str]) -> Iterator[str]:
    """Check environment variables; yield complaints."""
    if len(value) > ENV_MAX:
        yield f"has {len(value)} entries; at most {ENV_MAX} are allowed"
    for name, text in value.items():
        if not ENV_NAME.fullmatch(name):
            yield f"has the name {shown(name)}; use letters, digits and '_', not beginning with a digit"
        elif name in IDENTITY or name.startswith("BASTION_"):
            yield f"sets {name}, which the worker sets itself; choose another name"
        if "\0" in text or len(text) > 32 * 1024:
            yield f"{shown(name)} holds a NUL character or more than 32 KiB"
        elif wrong := secret_ref.fault(text):
            yield f"{shown(name)} {wrong}"
