"""Warn of secrets in a job spec, which everyone with access to the bucket can read. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bastion.model.job import secret_ref
from bastion.model.job.spec import JobSpec

_SHAPES = re.compile(
    r"""
    \bhf_[A-Za-z0-9]{20,}                                   # Hugging Face
    | \bgh[pousr]_[A-Za-z0-9]{30,} | \bgithub_pat_\w{20,}   # GitHub
    | \bglpat-[\w-]{20,}                                    # GitLab
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b                         # AWS
    | \bAIza[\w-]{35} | \bya29\.[\w-]{20,}                  # Google
    | \bsk-[\w-]{20,}                                       # OpenAI, Anthropic
    | \bxox[abeoprs]-[\w-]{10,}                             # Slack
    | \beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}            # a JSON web token
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----
    | ://[^/\s:@]+:[^/\s@]+@                                # a URL with a password
    """,
    re.VERBOSE,
)
_NAMES = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEY|(?:ACCESS|PRIVATE|SECRET)_KEY)(?:_ID)?$",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(
    r"[0-9.]*|true|false|yes|no|on|off|none|null|/.*|\./.*|[a-z][a-z0-9+.-]*://[^@]*", re.IGNORECASE
)
"""Values that are no secret even under a name of `_NAMES`: a number, a switch, a path or an address."""


def warnings(spec: JobSpec) -> Iterator[str]:
    """Yield one line for each part of a spec that looks like a secret, with what to do. No line repeats the value."""
    for name, text in spec.env.items():
        instead = f"--env {name}={secret_ref.PREFIX}NAME"
        if text.startswith(secret_ref.PREFIX):
            if _SHAPES.search(text):
                yield f"env {name} looks like the secret itself, in place of its name{_OPEN} {instead}"
        elif _SHAPES.search(text) or (_NAMES.search(name) and not _NO_SECRET.fullmatch(text)):
            yield f"env {name} looks like a secret{_OPEN} {instead}"
    words = spec.command if isinstance(spec.command, list) else [spec.command]
    for what, texts in (("the command", words), ("the setup", [spec.setup])):
        if any(_SHAPES.search(text) for text in texts):
            yield f"{what} holds what looks like a secret{_OPEN} a variable, --env VARIABLE={secret_ref.PREFIX}NAME"


_OPEN = ", and everyone who can read the bucket can read it; revoke it, keep it in a file of the machines, and use"
