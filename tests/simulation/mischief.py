"""What people do to a simulated bastion that they should not: everything twice, late and wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random

import msgspec

from bastion.model import layout
from bastion.model.errors import BucketError
from bastion.model.job.spec import new_jobspec
from bastion.model.stored.requests import Cancel, Hold, Pause, Request, Resume, Submit, Top
from bastion.service.admin_files import KEYS
from tests.simulation.laws.input import ACCOUNTS
from tests.simulation.line import bucket_of
from tests.simulation.parts.kernel import Life
from tests.simulation.parts.plan import Act
from tests.simulation.scene import Scene
from tests.simulation.users import PEOPLE, User

GARBAGE = (
    b"",
    b"{",
    b"\xff\xfe\x00",
    b"null",
    b"[]",
    b'{"kind":"submit","spec":{"name":7}}',
    b'{"kind":"submit","kind":"cancel","job":"x-00000000"}',
    b'{"kind":"cancel","job":"../journal/0"}',
    b'{"kind":"hold","job":["a"],"schema":1}',
    b'{"schema":99,"kind":"cancel","job":"x-00000000"}',
    b"[" * 5000,
    b'{"kind":"submit","spec":"' + b"x" * 70_000,
)
FLOOD, COMPLAINTS, HUGE = 80, 60, 500_000
"""Requests that somebody sends in one go, what is wrong with each, and the bytes of a word that is too long."""

GOOD = 2
"""So many of each file's texts below are good."""


def quotas(good: bytes) -> Sequence[bytes]:
    """Texts of quota files."""
    return (
        good,
        good.replace(b"0.5", b"0.7", 1).replace(b"0.5", b"0.3", 1),
        good.replace(b"0.5", b"1.5"),
        good.replace(b"0.5", b"-0.5", 1),
        good.replace(b"0.5", b"nan", 1),
        good.replace(b"[project_membership]", b"[project_membership"),
        good.replace(b'["ann", "amy"]', b"[7]"),
        good[: good.index(b'"bob"') + 2],
        b"\xff\xfe",
    )


def configs(good: bytes) -> Sequence[bytes]:
    """Texts of settings."""
    return good, good.replace(b"20", b"40"), good.replace(b"5", b'"soon"', 1), b"poll = ", b"\xff", b"pol = 5\n"


class Mischief:
    """Acts of people, by their kind. Each tells what was done, or nothing if it could not be."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        good = *quotas(scene.quota)[:GOOD], *configs(scene.config)[:GOOD]
        scene.laws.inputs.good |= {text.decode() for text in good}

    def quota(self, dice: Random) -> str:
        """An admin writes a quota file, good or bad, or removes it."""
        return self._file("quota", dice.choice(quotas(self._scene.quota)), dice)

    def config(self, dice: Random) -> str:
        """An admin writes settings, good or bad."""
        return self._file("config", dice.choice(configs(self._scene.config)), dice)

    def twice(self, dice: Random) -> str:
        """A request that lies in the inbox, or lay there, is written once more; or its user cancels twice."""
        known = sorted(self._scene.acknowledged)
        if not known:
            return ""
        job = dice.choice(known)
        spec = self._scene.specs[job]
        user = self._user(dice)
        if dice.random() < 0.5:
            self._do(lambda: user.send(spec.user, Submit(spec=spec), self._scene.requests[job]))
        else:
            self._do(lambda: user.cancel(spec.user, job))
            self._do(lambda: user.cancel(spec.user, job))
        return job

    def garbage(self, dice: Random) -> str:
        """Something lies in the inbox that is no request, or under a name that is none."""
        name = dice.choice(["", "x", "a/b", "a b", f"{dice.getrandbits(64):x}", f"{dice.getrandbits(64):x}"])
        key = f"{layout.INBOX}{dice.choice([*PEOPLE, 'eve', ''])}/{name}.json"
        bucket, _ = bucket_of(self._scene, f"mischief {dice.random()}")
        self._scene.laws.inputs.garbage.add(layout.request_name(key))

        def act() -> None:
            with suppress(BucketError):
                bucket.create(key, dice.choice(GARBAGE))

        self._do(act)
        return key

    def foreign(self, dice: Random) -> str:
        """Somebody asks for what is not theirs, or for what is not there."""
        known = sorted(self._scene.acknowledged)
        job = dice.choice([*known, "nobody-00000000"])
        user, who = self._user(dice), dice.choice(["eve", *PEOPLE])
        spec = self._scene.specs.get(job)
        if spec is not None and spec.user == who:
            who = "eve"
        asked: list[Request] = [
            Cancel(job=job),
            Hold(job=job),
            Pause(),
            Resume(),
            *([Submit(spec=spec)] if spec else []),
        ]
        body = dice.choice(asked)
        self._do(lambda: user.ask(who, body))
        return f"{type(body).__name__} of {job} by {who}"

    def uid(self, dice: Random) -> str:
        """Somebody writes a request whose path and text are in the name of another account."""
        known = sorted(self._scene.acknowledged)
        job, who = dice.choice([*known, "nobody-00000000"]), dice.choice(["eve", *PEOPLE])
        spec = self._scene.specs.get(job)
        names = [spec.user if spec else "ann", "root"]
        asked: list[Request] = [Cancel(job=job), Hold(job=job), Top(job=job), Pause()]
        if spec:
            asked += [Submit(spec=msgspec.structs.replace(spec, name=f"{spec.name}-again"))] * 2
        body = dice.choice(asked)
        victim = names[0] if isinstance(body, Submit) else dice.choice(names)
        if victim == who:
            who = "eve"
        if dice.random() < 0.25:
            return self._huge(victim, who, dice)
        user = self._user(dice)
        self._do(lambda: user.ask(victim, body, by=who))
        return f"{type(body).__name__} of {job} in the name of {victim} by {who}"

    def _huge(self, victim: str, who: str, dice: Random) -> str:
        """It is larger than a request may be: nobody reads it to the end, and its writer is known all the same."""
        key = layout.request(victim, f"{dice.getrandbits(128):032x}")
        self._scene.laws.inputs.garbage.add(layout.request_name(key))
        self._scene.store.put("create", key, b"x" * HUGE, ACCOUNTS[who])
        return f"{HUGE} bytes in the name of {victim} by {who}"

    def bloat(self, dice: Random) -> str:
        """Somebody sends more than is taken in, each with more to complain of than is stored; or a worker's word is huge."""
        store, user, floods = self._scene.store, self._user(dice), dice.random() < 0.85
        facts = [key for key in store.keys if key.startswith(layout.FACTS)]
        if facts and not floods:
            key = dice.choice(facts)
            self._scene.laws.torn(key)
            store.put("tear", key, b'{"schema":1,"phase":"' + b"x" * HUGE)
            return key
        spec = new_jobspec(
            name="bloat", user="eve", project="red", command="true", resources={"v4": 1},
            after=[f"ok:{'long-' * 8}{dice.getrandbits(32):08x}" for _ in range(COMPLAINTS)],
        )  # fmt: skip

        def act() -> None:
            for _ in range(FLOOD):
                user.ask("eve", Submit(spec=spec))

        self._do(act)
        return f"{FLOOD} requests of eve"

    def early(self, dice: Random) -> str:
        """A job is cancelled that is only submitted afterwards, or never."""
        user, job = self._user(dice), f"later-{dice.getrandbits(32):08x}"
        self._do(lambda: user.ask("ann", Cancel(job=job)))
        return job

    def pause_all(self, dice: Random) -> str:
        """An admin pauses the bastion, and resumes it a little later."""
        user, seconds = self._user(dice), dice.uniform(0, 60)

        def act() -> None:
            paused = f"root/{user.ask('root', Pause())}"
            self._scene.kernel.sleep(seconds)
            user.ask("root", Resume())
            # It may be read before the pause, as a release may be before its hold.
            while self._stands(paused) or self._scene.laws.truth.paused:
                self._scene.kernel.sleep(30)
                user.ask("root", Resume())

        self._do(act)
        return f"for {seconds:.0f} s"

    def _stands(self, request: str) -> bool:
        """Whether a request was not read yet."""
        return f"{layout.INBOX}{request}.json" in self._scene.store.found(layout.INBOX, "")

    def _file(self, file: str, data: bytes, dice: Random) -> str:
        """Only once a good one is in force: a bastion that never saw one starts nothing, and the world would never end.

        Settings that send tiers to runners stay: what runs on one that gives its tier no more would count to another's.
        """
        store, key = self._scene.store, KEYS[file]
        if file not in self._scene.laws.inputs.in_force:
            return ""
        if dice.random() < 0.1 and not (self._scene.plan.walls and file == "config"):
            store.drop(key)
            return f"{key} removed"
        store.put("write", key, data)
        return f"{key} {data[:40]!r}…"

    def _user(self, dice: Random) -> User:
        return User(self._scene, Act(0, "mischief", dice.getrandbits(32)), -1)

    def _do(self, act: Callable[[], object]) -> None:
        self._scene.kernel.spawn(Life(), act)
