"""The secrets of one order, from the machine that holds them or can fetch them."""

from __future__ import annotations

from bastion.model.errors import SecretError
from bastion.model.job import secret_ref
from bastion.model.stored.records import Order

from .interfaces import Secrets


class MachineSecrets:
    """The secrets of one machine: its own, and those that Google keeps for its account."""

    def __init__(self, own: Secrets, googles: Secrets) -> None:
        self._own, self._googles = own, googles

    def reveal(self, name: str, *, user: str, project: str) -> str:
        """Return the value, from the source that keeps names of this kind. Raises `SecretError`."""
        source = self._googles if secret_ref.is_googles(name) else self._own
        return source.reveal(name, user=user, project=project)


def reveal(order: Order, secrets: Secrets | None) -> dict[str, str]:
    """Return the secret values of the order, by variable. Raises `SecretError`, which names every problem."""
    found, wrong = dict[str, str](), dict[str, None]()
    for variable, name in secret_ref.wanted(order.env).items():
        try:
            if secrets is None:
                raise SecretError(f"secret {name} is not available: this machine has no secrets")
            found[variable] = secrets.reveal(name, user=order.user, project=order.project)
        except SecretError as error:
            wrong[str(error)] = None
    if wrong:
        raise SecretError("; ".join(wrong))
    return found
