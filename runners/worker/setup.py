"""What a setup is known by on a machine, and what is said of one that failed. Pure."""

from __future__ import annotations

import msgspec

from bastion.model.job import secret
from bastion.model.stored.records import Order

_LINES = 5


class SetupFailed(Exception):
    """The setup ended badly; the text tells its exit code and its last words."""

    def __init__(self, code: int, output: bytes) -> None:
        lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
        words = " | ".join(lines[-_LINES:]) or "it printed nothing"
        super().__init__(f"the setup ended with exit code {code}: {words}")


def name_of(order: Order) -> str:
    """The same for attempts that may share what the setup makes: equal code, text and shell, of one user in one project.

    A job can change what its setup made, so no other user's job may ever run it.
    """
    bundle, secrets = order.bundle, sorted(secret.wanted(order.env).items())
    whose = [order.user, order.project, secrets]
    shell = [order.shell] if order.shell else []
    return msgspec.json.encode(
        [bundle.identity, bundle.submodules, bundle.folder, order.setup, *shell, *whose]
    ).decode()
