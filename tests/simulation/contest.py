"""Projects of a simulated world that want the same units at the same time, and members who leave while they hold some."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from bastion.model.job.spec import JobSpec, new_jobspec
from bastion.service.admin_files import KEYS
from tests.simulation import scripts
from tests.simulation.parts.kernel import Life
from tests.simulation.parts.plan import Act
from tests.simulation.scene import Scene
from tests.simulation.users import User

UNTIL_S = 200.0
"""So long somebody is waited for at most until they hold something."""

SHARE = 3
"""So much of the wanted kind each of the two projects is promised."""

CLAIMS = 3
"""So often the other project asks for it."""

ROUNDS, ROUND_S, SMALL = 4, 70.0, 8
"""So often a large job comes, so many seconds apart, and behind each so many small tasks."""


class Contest:
    """Acts of people who want what others have, by their kind. Each tells what was done."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._without_ann = scene.quota.replace(b'"ann", ', b"")
        scene.laws.inputs.good.add(self._without_ann.decode())

    def members(self, dice: Random) -> str:
        """An admin puts ann out of her project once she holds something there, and in again a little later."""
        seconds = dice.uniform(20, 200)
        self._do(lambda: self._put_out(seconds))
        return f"ann is out for {seconds:.0f} s"

    def contend(self, dice: Random) -> str:
        """Members of one project hold all that they can get, for long; another project asks for what is its own.

        Meanwhile one of them may leave: what she holds is borrowed then, and what the other one holds may be within the share.
        """
        scene, seconds, leaves = self._scene, dice.uniform(60, 300), dice.random() < 0.7
        first, second = dice.sample(["ann", "amy"], 2)
        parts = dice.choice([(3, 3), (2, 4), (4, 2), (3, 2)])
        user = User(scene, Act(0, "contender", dice.getrandbits(32)), -1)
        wants = [_job(who, "red", 1, count, seconds) for who, count in zip((first, second), parts, strict=True)]
        claims = [_job("bob", "blue", dice.randint(1, SHARE), 1, 20.0) for _ in range(CLAIMS)]

        def act() -> None:
            for spec in wants:
                user.submit(spec)
                self._until_holds(spec.user)
            if leaves:
                self._do(lambda: self._put_out(seconds))
            for claim in claims:
                user.submit(claim)
                scene.kernel.sleep(seconds / CLAIMS)

        self._do(act)
        return f"{first} and {second} against bob for {seconds:.0f} s{', and ann leaves' if leaves else ''}"

    def sizes(self, dice: Random) -> str:
        """Small tasks of a user come for long, and among them large jobs, which they overtake. Another project is busy, too."""
        (user, project), (other, rest) = dice.sample([("ann", "red"), ("bob", "blue")], 2)
        somebody = User(self._scene, Act(0, "sizes", dice.getrandbits(32)), -2)
        rounds = [(dice.choice([2, SHARE]), dice.choice([20.0, 35.0])) for _ in range(ROUNDS)]

        def act() -> None:
            somebody.submit(_job(other, rest, 1, SMALL * ROUNDS, 30.0))
            somebody.submit(_job(user, project, 1, SHARE, 25.0))
            self._until_holds(user)
            for units, seconds in rounds:
                somebody.submit(_job(user, project, units, 1, 20.0))
                somebody.submit(_job(user, project, 1, SMALL, seconds))
                self._scene.kernel.sleep(ROUND_S)

        self._do(act)
        return f"{user} asks for {', '.join(str(units) for units, _ in rounds)} among small ones"

    def _put_out(self, seconds: float) -> None:
        scene, laws = self._scene, self._scene.laws
        self._until_holds("ann")
        if laws.rollback.lost or "quota" not in laws.inputs.in_force:
            return
        scene.store.put("write", KEYS["quota"], self._without_ann)
        scene.lasts(seconds)
        scene.kernel.sleep(seconds)
        scene.store.put("write", KEYS["quota"], scene.quota)  # another file may come before it is read
        while laws.inputs.in_force["quota"] == self._without_ann.decode() and not laws.rollback.lost:
            scene.kernel.sleep(30)
            scene.store.put("write", KEYS["quota"], scene.quota)

    def _until_holds(self, user: str) -> None:
        until, truth = self._scene.lasts(UNTIL_S), self._scene.laws.truth
        while not any(job.user == user for _, job, _ in truth.live_attempts()) and self._scene.kernel.now < until:
            self._scene.kernel.sleep(5)

    def _do(self, act: Callable[[], object]) -> None:
        self._scene.kernel.spawn(Life(), act)


def _job(user: str, project: str, v4: int, count: int, seconds: float) -> JobSpec:
    """A job whose tasks end only by their time limit."""
    return new_jobspec(
        name=f"c-{user}",
        user=user,
        project=project,
        command=f"{scripts.HANGS} {user} {seconds}",
        resources={"v4": v4},
        count=count,
        time_limit_s=seconds,
        grace_s=5.0,
        max_tries=1,
        priority=1,
    )
