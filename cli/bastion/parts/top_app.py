"""The screen of `bastion top`, built on textual. It requests boards and draws them; other files compute their content.

It is heavy: import it only right before drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Static

from bastion.launcher.explain.usage_board import ORDERS, BoardOptions, UsageBoard
from bastion.launcher.read.job_rows import CAPS, HEADS
from bastion.model.durations import short
from bastion.model.errors import BastionError
from bastion.model.interfaces import Tasks
from bastion.schedule.usage import ProjectUsage

from ...terminal.main import DONE, INTERRUPTED
from ...terminal.table import middle, plain

EVERY_S, COLLECT_S = 2.0, 0.05

LOW = 16
"""The number of terminal lines below which everything except the jobs gets less room."""

COLUMNS = (
    (100, HEADS),
    (60, ("JOB", "USER", "PROJECT", "STATE", "AGE", "WHY / WHERE")),
    (0, ("JOB", "STATE", "WHY / WHERE")),
)
"""The columns of the jobs, each set with the smallest width that it needs."""


class BoardSource(Protocol):
    """The interface to a source of boards."""

    def __call__(self, asked: BoardOptions, *, anew: bool) -> UsageBoard:
        """Return a board. `anew`: ask the bucket first. Raises `BastionError`."""


class Jobs(DataTable[Text]):
    """The table of jobs, one a row."""

    BINDINGS = [
        Binding("enter", "select_cursor", "Why"),
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]


class JobDetails(ModalScreen[None]):
    """The page that explains one job."""

    BINDINGS = [Binding("escape,q,enter", "dismiss", "Back")]

    def __init__(self) -> None:
        super().__init__()
        self._why = Static(id="why")

    def compose(self) -> ComposeResult:
        """Make a page that scrolls."""
        with VerticalScroll(id="page"):
            yield self._why

    def tell(self, lines: Sequence[str]) -> None:
        """Show these lines."""
        self._why.update(Text("\n".join(map(plain, lines))))


class TopApp(App[int]):
    """The application: it shows shares and jobs, and refreshes them."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { overflow: hidden; }
    #head { height: auto; max-height: 2; text-style: bold; }
    #problems { height: auto; max-height: 3; color: $error; }
    #shares { height: auto; max-height: 40%; }
    #bars { height: auto; width: auto; }
    Jobs { height: 1fr; min-height: 2; scrollbar-size-horizontal: 0; }
    #told { height: auto; max-height: 3; color: $text-muted; }
    .low #head, .low #problems, .low #told { max-height: 1; }
    .low #shares { max-height: 2; }
    .low Footer { display: none; }
    #filter { height: 1; border: none; padding: 0; display: none; }
    JobDetails { align: center middle; }
    #page { width: 90%; height: 80%; border: round $primary; background: $surface; padding: 0 1; }
    #why { height: auto; }
    """
    BINDINGS = [
        Binding("q,ctrl+q", "leave", "Quit", key_display="q"),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("s", "sort", "Sort"),
        Binding("escape", "clear", show=False),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
    ]

    def __init__(self, look: BoardSource, tasks: Tasks, first: UsageBoard, *, every_s: float = EVERY_S) -> None:
        super().__init__()
        self._every_s = every_s
        self.board = first
        self._look, self._tasks = look, tasks
        self._asked, self._problem = first.asked, ""
        self._drawn: tuple[tuple[Any, ...], ...] = ((), (), ())
        self._busy = self._again = self._anew = False
        self._page: JobDetails | None = None
        self._head, self._problems, self._bars = Static(id="head"), Static(id="problems"), Static(id="bars")
        self._jobs, self._told = Jobs(cursor_type="row", zebra_stripes=True), Static(id="told")
        self._filter = Input(id="filter", placeholder="words in name, user, project or state; escape shows all")

    def compose(self) -> ComposeResult:
        """Make the widgets, from top to bottom."""
        yield self._head
        yield self._problems
        with VerticalScroll(id="shares", can_focus=False):
            yield self._bars
        yield self._jobs
        yield self._told
        yield self._filter
        yield Footer()

    def on_mount(self) -> None:
        """Draw the first board, and start to refresh."""
        self._jobs.focus()
        self._draw()
        self.set_interval(self._every_s, lambda: self._ask(anew=True))
        self.set_interval(COLLECT_S, self._collect)

    def on_resize(self) -> None:
        """Draw again: another width has other columns and bars."""
        self._draw()

    def on_data_table_row_highlighted(self) -> None:
        """Show the whole reason of the job under the cursor: its row may be too short for it."""
        self._tell()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open the page of a job on Enter."""
        self._asked = replace(self._asked, job=str(event.row_key.value))
        self._ask()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter the jobs after every letter."""
        self._asked = replace(self._asked, text=event.value)
        self._ask()

    def on_input_submitted(self) -> None:
        """Go back to the filtered jobs on Enter."""
        self._jobs.focus()

    def action_leave(self) -> None:
        """End the screen with success."""
        self.exit(DONE)

    def action_interrupt(self) -> None:
        """End on Ctrl-C, with the usual exit code."""
        self.exit(INTERRUPTED)

    def action_filter(self) -> None:
        """Open the filter."""
        self._filter.display = True
        self._filter.focus()

    def action_clear(self) -> None:
        """Show all jobs again."""
        self._filter.value, self._filter.display = "", False
        self._jobs.focus()

    def action_sort(self) -> None:
        """Switch to the next order."""
        orders = list(ORDERS)
        self._asked = replace(self._asked, order=orders[(orders.index(self._asked.order) + 1) % len(orders)])
        self._ask()

    def _ask(self, *, anew: bool = False) -> None:
        """Start to make the next board, or remember to do so after the present one."""
        self._anew |= anew
        self._again = True
        if self._busy:
            return
        asked, anew = self._asked, self._anew
        if self._tasks.start("look", lambda: self._look(asked, anew=anew)):
            self._busy, self._again, self._anew = True, False, False

    def _collect(self) -> None:
        """Draw a board that is ready."""
        for end in self._tasks.finished():
            self._busy = False
            if end.error is None:
                self.board, self._problem = end.result, ""
            elif isinstance(end.error, BastionError | OSError):
                self._problem = f"{end.error}; trying again"
            else:
                raise end.error
            self._draw()
        if self._again and not self._busy:
            self._ask()

    def _draw(self) -> None:
        if not (self._jobs.is_mounted and self.screen_stack):  # the screen is starting or ending
            return
        board, width = self.board, max(1, self.size.width)
        problems = [*board.problems, *([self._problem] if self._problem else [])]
        self._head.update(Text(plain(head(board))))
        self._problems.update(Text("\n".join(map(plain, problems))))
        self._problems.display = bool(problems)
        self._bars.update(Text("\n").join(bars(board.uses, width)))
        self.screen_stack[0].set_class(self.size.height < LOW, "low")
        self._draw_jobs(width)
        self._tell()
        self._draw_page()

    def _draw_jobs(self, width: int) -> None:
        """Draw the rows again, and keep the cursor on its job."""
        table = self._jobs
        at, was = table.cursor_row, [str(key.value) for key in table.rows]
        heads = next(heads for least, heads in COLUMNS if width >= least)
        drawing = (heads, self.board.ids, self.board.cells)
        if drawing == self._drawn:
            return
        table.clear(columns=heads != self._drawn[0])
        if heads != self._drawn[0]:
            table.add_columns(*(Text(head) for head in heads))
        self._drawn = drawing
        columns = [(HEADS.index(head), CAPS.get(head)) for head in heads]
        for job, cells in zip(self.board.ids, self.board.cells, strict=True):
            table.add_row(*(Text(middle(plain(cells[at]) or "-", cap)) for at, cap in columns), key=job)
        job = was[at] if 0 <= at < len(was) else ""
        if self.board.ids:
            table.move_cursor(row=self.board.ids.index(job) if job in self.board.ids else max(0, at))

    def _tell(self) -> None:
        """Show the selection of jobs, and the reason of the job under the cursor."""
        at = self._jobs.cursor_row
        why = plain(self.board.cells[at][-1]) if 0 <= at < len(self.board.cells) else ""
        self._told.update(Text(f"{told(self.board)}. {why}"))

    def _draw_page(self) -> None:
        """Draw the page of the selected job, until it is closed."""
        if self._asked.job and self._page is None and self.board.asked.job == self._asked.job:
            self._page = JobDetails()
            self.push_screen(self._page, self._page_closed)
            self.call_after_refresh(self._draw_page)
        elif self._page is not None and self._page.is_mounted:
            self._page.tell(self.board.why or ["this job is gone"])

    def _page_closed(self, _: None) -> None:
        self._page, self._asked = None, replace(self._asked, job="")


def head(board: UsageBoard) -> str:
    """Return the first line: the bastion, its state, and the number of jobs in each state."""
    said, age = board.bastion, board.bastion["last_tick_age_s"]
    seen = "never seen" if age is None else f"last seen {short(age)} ago"
    jobs = "  ".join(f"{count} {state}" for state, count in board.counts.items()) or "no jobs"
    return f"bastion {said['name']}: {said['state']}, {seen}   {jobs}"


def told(board: UsageBoard) -> str:
    """Return a description of the selection of jobs."""
    words = f", with {board.asked.text!r}" if board.asked.text else ""
    more = f", {board.more} more" if board.more else ""
    return f"{len(board.ids)} jobs by {board.asked.order}{words}{more}"


def bars(uses: Sequence[tuple[ProjectUsage, int]], width: int) -> list[Text]:
    """Return one line for each project and kind: its name, its bar, its numbers."""
    names = [f"{middle(plain(use.project), 12)} {middle(plain(use.kind), 8)}" for use, _ in uses]
    numbers = [f"{use.used}{f'/{use.share}' if use.share else ''} of {there_is}" for use, there_is in uses]
    left, right = max(map(len, names), default=0), max(map(len, numbers), default=0)
    room = max(4, width - left - right - 4)
    lines = []
    for (use, there_is), name, number in zip(uses, names, numbers, strict=True):
        parts = bar(use, there_is, room)
        line = Text(f"{name:<{left}} ", no_wrap=True)
        line.append("█" * parts.own, "green").append("▓" * parts.borrowed, "yellow")
        line.append("░" * parts.idle, "green").append("·" * parts.rest, "dim").append(f" {number}")
        lines.append(line)
    return lines


@dataclass(frozen=True, slots=True)
class UsageBar:
    """The parts of a bar, from the left, as lengths in characters.

    own: what is used of the share.
    borrowed: what is used beyond it.
    idle: what is idle of the share.
    rest: everything else.
    """

    own: int
    borrowed: int
    idle: int
    rest: int


def bar(use: ProjectUsage, there_is: int, width: int) -> UsageBar:
    """Return the bar of a project's usage.

    `width` characters stand for all that there is, or for the usage or share if larger.

    A usage above 0 has at least one character, and its characters go first.
    """
    whole = max(there_is, use.used, use.share, 1)
    used = _cells(use.used, whole, width)
    borrowed = min(used, _cells(use.borrowed, whole, width))
    idle = min(width - used, _cells(max(0, use.share - use.used), whole, width))
    return UsageBar(used - borrowed, borrowed, idle, width - used - idle)


def _cells(amount: int, whole: int, width: int) -> int:
    return min(width, max(1, round(amount * width / whole))) if amount > 0 else 0
