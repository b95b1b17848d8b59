"""What a setup is known by on a machine, and what is said of one that failed. Pure."""

from __future__ import annotations

import msgspec

from bastion import secret
from bastion.records import Order

_LINES = 5


class SetupFailed(Exception):
    """The setup ended badly; the text tells its exit code and its last words."""

    def __init__(self, code: int, output: bytes) -> None:
        lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
        words = " | ".join(lines[-_LINES:]) or "it printed nothing"
        super().__init__(f"the setup ended with exit code {code}: {words}")


def name_of(order: Order) -> str:
    """The same for attempts that may share what the setup makes: equal code, text and shell.

    A setup that knows secrets may leave them in what it makes, so that is shared with the same user's jobs only.
    """
    bundle, secrets = order.bundle, sorted(secret.wanted(order.env).items())
    whose = [order.user, order.project, secrets] if secrets else []
    shell = [order.shell] if order.shell else []
    return msgspec.json.encode(
        [bundle.identity, bundle.submodules, bundle.folder, order.setup, *shell, *whose]
    ).decode()
