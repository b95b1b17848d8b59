"""Run one worker: claim the place, read the order, fetch the code, run the command, report, end.

One worker hosts one process of the user. From the claim on, every request to the bucket is a task beside the loop, so a
bucket that hangs or fails cannot keep the worker from supervising its process. Before its claim a worker does nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from bastion.journal.logs import SegmentWriter
from bastion.model import clocks, layout
from bastion.model.clocks import ClockReading
from bastion.model.codec import decode, encode
from bastion.model.errors import ObjectNotFound, RecordError, SecretError
from bastion.model.state.state import Cause
from bastion.model.stored.records import ORDER_BYTES_MAX, RECORD_BYTES_MAX, Claim, Facts, Order, Peer, Peers
from bastion.model.version import VERSION
from bastion.platform.store_clock import StoreTime, read

from .claim import claim_of
from .exit_reason import TERMINATED, Unstartable, cause_of, fatal_line, no_room, short
from .gpu_health import GpuHealth
from .interfaces import Process, WorkerContext, WorkerIdentity, WorkerPace
from .job_output import JobOutput
from .output_folder import OutputTarget
from .preparation import IMAGE, EnvironmentIn, Preparation, begin, in_shell, output_url
from .secrets import reveal
from .spool import Spool
from .supervision import Halt, Halted, StopWatch, Supervision, TimeLimit, has_left
from .upload_pace import UploadPace
from .work_loop import Chore, WorkLoop, persist
from .worker_report import FactsWriter

NOTHING_DONE = 0
SETUP_FAILED = 1
_TAIL = 256 * 1024
_PLAIN = WorkerPace()
_ONCE_MORE = "the machine restarted, which ended the processes on it"


def run(identity: WorkerIdentity, context: WorkerContext, pace: WorkerPace = _PLAIN) -> int:
    """Run this worker to its end. Return the exit code of the program: the process's own code if there was one."""
    claim = claim_of(identity, context, pace)
    if claim is None:
        return stand_in(identity, context, pace, _ONCE_MORE) if identity.creation else NOTHING_DONE
    return _Worker(identity, context, pace, claim).run()


def stand_in(identity: WorkerIdentity, context: WorkerContext, pace: WorkerPace, why: str) -> int:
    """End what the crashed worker of this machine left behind, and report its end if that worker had the claim."""
    key = layout.claim(identity.key, identity.worker)
    context.machine.clear()
    try:
        claim = decode(
            persist(context.clock, lambda: context.bucket.read(key, RECORD_BYTES_MAX).data, pace.retry_s), Claim, key
        )
    except (ObjectNotFound, RecordError):  # a damaged claim does not show its owner: never report for another machine
        return NOTHING_DONE
    if claim.void or claim.machine != identity.machine:
        return NOTHING_DONE
    if persist(context.clock, lambda: has_left(context.bucket, identity.key.job), pace.retry_s):
        return NOTHING_DONE
    return _Worker(identity, context, pace, claim).end_for(why)


class _Worker:
    def __init__(self, identity: WorkerIdentity, context: WorkerContext, pace: WorkerPace, claim: Claim) -> None:
        bucket, clock, machine = context.bucket, context.clock, context.machine
        self._identity, self._context, self._pace, self._claim = identity, context, pace, claim
        self._pump = WorkLoop(clock, context.tasks, context.say)
        self._stops = StopWatch(bucket, identity.key, clock, pace)
        self._output = JobOutput(machine)
        self._spool = Spool(
            self._output, SegmentWriter(bucket, layout.log(identity.key, identity.worker)), pace.spool_bytes
        )
        self._watch = UploadPace(bucket, identity.key, clock, pace, self._spool)
        facts = Facts(phase="claimed", machine=identity.machine, version=VERSION)
        self._time = StoreTime(clock)
        self._reporter = FactsWriter(
            bucket, layout.facts(identity.key, identity.worker), machine, clock, facts, self._time.now
        )
        self._limit = TimeLimit(clock, None)
        self._beats = 0
        self._began: float | None = None
        self._health = GpuHealth(context.gpus, identity.devices, clock, pace) if context.gpus else None
        self._add_chores()
        self._add_looks_at_gpus()

    def run(self) -> int:
        try:
            order = self._pump.until("order", self._read_order, self._stops.check_stop)
            self._limit = TimeLimit(self._context.clock, order.time_limit_s)
            self._enter("setup")
            env = self._preparation().prepare(order)
            peers = self._gather(order)
            process = self._start(order, peers, env)
        except Halted as halted:
            return self._end_unrun(halted.halt)
        except RecordError as wrong:
            # The worker is too old for the record, or the record is damaged: another attempt may succeed.
            return self._end_unrun(Halt(Cause.LOST, str(wrong)))
        except Exception as error:  # report any error: a worker that crashed would look like a lost machine
            return self._end_failed(error)
        return self._supervise(order, process)

    def end_for(self, why: str) -> int:
        """Finish the log and the facts of a crashed worker of this machine. Its processes are already killed."""
        context, pace = self._context, self._pace
        self._hide_again()
        persist(context.clock, self._spool.resume, pace.retry_s)
        persist(context.clock, self._reporter.resume, pace.retry_s)
        if self._reporter.facts.phase == "ended":
            return self._reporter.facts.exit_code or NOTHING_DONE
        return self._end(Cause.LOST, None, why, note=why)

    def _hide_again(self) -> None:
        """Hide again what the crashed worker hid in the output. If that is no longer known, hide all output."""
        key = layout.order(self._identity.key)
        try:
            data = persist(
                self._context.clock, lambda: self._context.bucket.read(key, ORDER_BYTES_MAX).data, self._pace.retry_s
            )
            self._output.hide(reveal(decode(data, Order, key), self._context.secrets).values())
        except ObjectNotFound:
            return  # nothing was ever started
        except (RecordError, SecretError):
            self._output.hide_all()

    def _add_chores(self) -> None:
        pace, pump = self._pace, self._pump
        pump.add(Chore("beat", self._beat, lambda: pace.beat_s, self._timed))
        pump.add(Chore("stop", self._stops.look, self._stops.period, self._stops.looked))
        pump.add(Chore("report", self._reporter.report, lambda: self._reporter.period(pace.report_s)))
        pump.add(Chore("flush", self._spool.flush, self._watch.flush_period))
        pump.add(Chore("watch", self._watch.look, lambda: pace.watch_s, self._looked))
        pump.add(Chore("notice", self._context.notice, lambda: 0.0, self._noticed))
        if self._context.farewell is not None:
            pump.add(Chore("farewell", self._context.farewell, lambda: pace.retry_s, self._stops.bidden))

    def _add_looks_at_gpus(self) -> None:
        health, pace, pump = self._health, self._pace, self._pump
        if health is not None:
            look, listen = self._told(health.looked, then="gpu errors"), self._told(health.heard, then="gpus")
            pump.add(Chore("gpus", health.look, lambda: pace.gpu_s, look))
            pump.add(Chore("gpu errors", health.listen, health.listen_period, listen, due=math.inf))
            pump.add(Chore("gpu driver", lambda: None, lambda: pace.gpu_s, self._told(lambda _: health.check())))

    def _told(self, take_in: Callable[[Any], Any], then: str = "") -> Callable[[Any], None]:
        """Return a function that takes in a result about GPUs and reports it. It hurries the chore `then` if needed."""

        def told(result: Any) -> None:
            assert self._health is not None
            if take_in(result) and then:
                self._pump.hurry(then)
            self._reporter.change(gpus=self._health.seen)

        return told

    def _looked(self, version: str | None) -> None:
        if self._watch.looked(version):
            self._pump.hurry("flush")

    def _noticed(self, _: None) -> None:
        self._stops.noticed()
        self._pump.hurry("stop")

    def _beat(self) -> ClockReading | None:
        """Write a heartbeat. The first time, also read how the store dates it, to compare the clocks."""
        self._beats += 1
        key, count, context = (
            layout.beat(self._identity.key, self._identity.worker),
            str(self._beats).encode(),
            self._context,
        )
        if not self._time.known:
            return read(context.bucket, context.clock, key, count)
        context.bucket.write(key, count)
        return None

    def _timed(self, asked: ClockReading | None) -> None:
        if asked is None:
            return
        self._time.take(asked)
        if self._began is not None and self._reporter.facts.started is None:
            self._reporter.change(started=self._time.at(self._began))
        if (problem := clocks.wrong(asked.off_s)) and not self._spool.closed:
            self._context.say(problem)
            with suppress(OSError):  # the disk is full; that is reported elsewhere
                self._context.machine.note(f"{problem}; the times of this attempt follow the store's clock")

    def _enter(self, phase: str, **facts: Any) -> None:
        self._reporter.change(phase=phase, **facts)
        self._pump.hurry("report")

    def _read_order(self) -> Order:
        order: Order = self._when_there(layout.order(self._identity.key), Order)
        return order

    def _when_there(self, key: str, kind: type[Any]) -> Any:
        """Return a record of the bastion as soon as it exists."""
        clock, pace = self._context.clock, self._pace
        while True:
            try:
                data = persist(clock, lambda: self._context.bucket.read(key, ORDER_BYTES_MAX).data, pace.retry_s)
            except ObjectNotFound:
                clock.sleep(pace.order_s)
                continue
            return decode(data, kind, key)

    def _preparation(self) -> Preparation:
        return Preparation(
            self._identity,
            self._context,
            self._pump,
            self._pace,
            output=self._output,
            check_stop=self._stops.check_stop,
            limit=self._limit,
            see=self._see_through,
        )

    def _gather(self, order: Order) -> Peers:
        """Return the addresses of all workers. A gang waits for the bastion's list, so all start together."""
        if order.workers == 1:
            return Peers(members=[Peer(address=self._claim.address, port=self._claim.port)])
        self._enter("waiting")
        key = layout.peers(self._identity.key)
        peers: Peers = self._pump.until("world", lambda: self._when_there(key, Peers), self._stops.check_stop)
        if len(peers.members) != order.workers:
            raise RecordError(f"{key} names {len(peers.members)} workers; the order has {order.workers}")
        return peers

    def _start(self, order: Order, peers: Peers, env: EnvironmentIn) -> Process:
        machine = self._context.machine
        machine.write_peers(encode(peers))
        environ, command = env(peers), order.command
        argv = in_shell(order, machine, command, environ) if isinstance(command, str) else command
        try:
            process = begin(order, machine, argv, environ)
        except (OSError, ValueError) as error:
            raise Unstartable(argv[0], error) from error
        self._watch.started()
        self._began = self._context.clock.monotonic()
        self._enter("running", started=self._time.now())
        self._pump.hurry("flush")
        return process

    def _supervise(self, order: Order, process: Process) -> int:
        self._limit.begin()
        code, halt = self._see_through(order, process)
        cause = cause_of(code, halt.cause if halt else None, out_of_memory=process.out_of_memory())
        self._keep_files(order)
        if cause is Cause.OK:
            return self._end(cause, code, "")
        words = (self._broken(), halt.reason if halt else self._last_words())
        return self._end(cause, code, "; ".join(filter(None, words)))

    def _see_through(self, order: Order, process: Process) -> tuple[int, Halt | None]:
        """Wait until no process of the tree is left. Return the exit code, and the halt if something made it end."""
        supervision = Supervision(
            process, self._context.clock, self._stops, self._pace, limit=self._limit, grace_s=order.grace_s
        )
        turn = self._turn(supervision)
        if guard := process.guard:
            self._pump.add(Chore(f"bounds {id(guard)}", guard.watch, guard.period, supervision.looked))
        code: int = self._pump.until("process", process.wait, turn)
        if code and supervision.halt is None:
            self._pump.until_true(self._stops.settled(), lambda: min(turn(), self._pace.notice_late_s))
            turn()
        supervision.command_ended()
        self._pump.until("rest", process.wait_rest, turn)
        return supervision.all_ended(code), supervision.halt

    def _keep_files(self, order: Order) -> None:
        """Keep the files in the command's working folder that the order names, and list the others in the log."""
        if order.bundle.type == IMAGE:
            return  # the folder is the image's own, and was removed with its container
        machine = self._context.machine

        def keep() -> list[str]:
            # Do not create the folder: if a mounted bucket is away, its path belongs to another file system.
            folder = output_url(order, self._context).removeprefix("file://")
            keeping = OutputTarget(
                globs=order.outputs, folder=folder, open=self._context.store, worker=self._identity.worker
            )
            return list(keeping.finish(machine))

        try:
            for line in self._pump.until("outputs", keep):
                machine.note(line)
        except OSError as error:  # a full disk must not lose the exit code of the command, which has ended
            self._context.say(f"files of the working folder: {error}")

    def _turn(self, supervision: Supervision) -> Callable[[], float]:
        def turn() -> float:
            self._spool.curb()
            wanted = supervision.turn()
            if supervision.halt is not None and self._reporter.facts.phase in ("setup", "running"):
                self._enter("stopping")
                self._pump.hurry("flush")
            return wanted

        return turn

    def _broken(self) -> str:
        """Return what broke on a GPU since the worker began, after one last look that has little time."""
        if self._health is None:
            return ""
        clock, pump, pace = self._context.clock, self._pump, self._pace
        settled = clock.monotonic() + pace.errors_s  # the GPU error that broke the process may arrive after its end
        pump.until_true(lambda: clock.monotonic() >= settled, lambda: pace.errors_s)
        pump.hurry("gpus")
        pump.until_true(self._health.fresh_since(settled), lambda: pace.poll_s)
        return self._health.blame()

    def _tell(self, told: Callable[[], bool], ended: float) -> None:
        """Run the loop until `told()`, at most `give_up_s` after the command's end: the bucket may be gone for good."""
        clock, deadline = self._context.clock, ended + self._pace.give_up_s
        self._pump.until_true(
            lambda: told() or clock.monotonic() >= deadline, lambda: max(0.0, deadline - clock.monotonic())
        )

    def _await_time(self) -> None:
        """Wait until the first heartbeat is dated, at most one beat: a quick command may end before that."""
        clock, deadline = self._context.clock, self._context.clock.monotonic() + self._pace.beat_s
        if not self._time.known:
            self._pump.hurry("beat")
        self._pump.until_true(
            lambda: self._time.known or clock.monotonic() >= deadline, lambda: max(0.0, deadline - clock.monotonic())
        )

    def _last_words(self) -> str:
        return fatal_line(self._output.last(_TAIL))

    def _end_unrun(self, halt: Halt) -> int:
        self._context.machine.clear()
        return self._end(halt.cause, None, halt.reason)

    def _end_failed(self, error: Exception) -> int:
        if no_room(error):
            return self._end(Cause.LOST, None, short(f"no disk space is left on the machine: {error}"))
        code = error.code if isinstance(error, Unstartable) else None
        cause = Cause.SETUP if code is None else Cause.CODE
        return self._end(cause, code, short(str(error)), note=short(str(error)))

    def _end(self, cause: Cause, code: int | None, message: str, note: str = "") -> int:
        """Store the log first and the facts last: a reader of the facts that sees the end also finds the whole log."""
        ended = self._context.clock.monotonic()
        self._spool.close(note)
        self._pump.hurry("flush")
        self._tell(lambda: self._spool.ended, ended)
        self._await_time()
        self._enter("ended", cause=cause, exit_code=code, message=short(message), ended=self._time.at(ended))
        self._tell(lambda: self._reporter.told, ended)
        if not self._reporter.told:
            self._context.say(
                f"the bucket did not answer for too long, so the end of the job is not stored; {self._context.machine.leave()}"
            )
        if cause is Cause.LOST:
            return TERMINATED
        return SETUP_FAILED if code is None else code
