"""`bastion top`: show shares, usage, borrowing and pending jobs live on the whole terminal, from the bucket alone."""

from __future__ import annotations

import sys

from bastion.launcher.explain.usage_board import BoardOptions, UsageBoard, board
from bastion.launcher.read.view import View
from bastion.model.errors import UsageError
from bastion.model.stored.status import summary
from bastion.platform import host

from ..common.command_context import CommandContext, context_of
from ..terminal.flags import Options
from ..terminal.main import INTERRUPTED, Call


class BoardReader:
    """A source of boards for the screen. It allows one call at a time."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._reader = context.reader()
        self._view: View | None = None

    def __call__(self, asked: BoardOptions, *, anew: bool) -> UsageBoard:
        """Return the board. `anew`: ask the bucket, with two requests if nothing is new. Raises `BastionError`."""
        if anew or self._view is None:
            self._view = self._reader.look(thrifty=True)
        status, now = self._view.status, self._context.clock.wall()
        died = status is not None and host.died(status)
        return board(self._view, asked, summary(self._context.bastion, status, now=now, died=died))


def run(call: Call[Options]) -> int:
    """Draw until the user leaves. Return the exit code."""
    check_terminal(call)
    context = context_of(call)
    looker = BoardReader(context)
    first = looker(BoardOptions(), anew=True)  # before the screen opens: errors then print as everywhere
    from .parts.top_app import TopApp  # heavy: only for a terminal

    app = TopApp(looker, context.tasks, first)
    code = app.run()
    return (app.return_code or INTERRUPTED) if code is None else code  # an end by a signal has no code


def check_terminal(call: Call[Options]) -> None:
    """Raise `UsageError` if there is no terminal to draw on."""
    output = call.output
    seen = output.height is not None and output.err.isatty() and sys.stdin is not None and sys.stdin.isatty()
    if output.json or not seen:
        raise UsageError(
            "bastion top draws on a terminal; use bastion status or launch ls --all, with --json for programs"
        )
