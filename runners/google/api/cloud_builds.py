"""The builds that jobs wait for, read from Cloud Build: one listing for each location, and a few direct questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from bastion.model.errors import RunnerError, UsageError
from bastion.model.interfaces import BuildResult

from .build_status import TAG, ended
from .interface import Google, GoogleError, ResourceNotFound

PAGE = 200
LISTED = 1_000
"""The number of builds that are read in a location. Cloud Build lists the newest first."""

PLACES, DIRECT = 8, 8
"""The most locations, and the most builds missing from the listings, that one pass asks about.

The next passes ask about the others.
"""


class CloudBuilds:
    """The interface `BuildService` for Cloud Build. `google` returns the API of a project. Run one pass at a time."""

    def __init__(self, google: Callable[[str], Google]) -> None:
        self._open = google
        self._known: dict[str, Google] = {}
        self._passes = 0

    def ended(self, names: Sequence[str]) -> Mapping[str, BuildResult | RunnerError]:
        """Return how builds ended, by name. A build that has not ended is left out.

        The value is an error where a build could not be asked about; if a listing fails, the first build of its
        location has the error. One pass makes at most 8 listings of 5 pages and 8 direct questions.
        """
        places: dict[str, list[str]] = {}
        for name in names:
            places.setdefault(name.rpartition("/builds/")[0], []).append(name)
        turn, self._passes = self._passes, self._passes + 1
        found: dict[str, BuildResult | RunnerError] = {}
        missing: list[str] = []
        for place in _in_turn(sorted(places), turn, PLACES):
            try:
                seen = self._listed(place, places[place])
            except (GoogleError, UsageError) as error:
                found[places[place][0]] = error if isinstance(error, GoogleError) else RunnerError(str(error))
                continue
            found.update({name: end for name, end in seen.items() if end})
            missing += [name for name in places[place] if name not in seen]
        for name in _in_turn(missing, turn, DIRECT):
            if end := self._asked(name):
                found[name] = end
        return found

    def _google(self, name: str) -> Google:
        """Return the API of the project that a location or a build belongs to."""
        project = name.split("/")[1]
        if project not in self._known:
            self._known[project] = self._open(project)
        return self._known[project]

    def _listed(self, place: str, names: Sequence[str]) -> dict[str, BuildResult | None]:
        wanted, seen = {name.rpartition("/")[2]: name for name in names}, dict[str, BuildResult | None]()
        rows = self._google(place).pages(
            "cloudbuild.projects.locations.builds.list", "builds", parent=place, filter=f'tags="{TAG}"', pageSize=PAGE
        )
        for row in islice(rows, LISTED):
            if name := wanted.get(str(row.get("id"))):
                seen[name] = ended(row)
            if len(seen) == len(wanted):
                break
        return seen

    def _asked(self, name: str) -> BuildResult | RunnerError | None:
        try:
            return ended(self._google(name).call("cloudbuild.projects.locations.builds.get", name=name))
        except ResourceNotFound:
            return BuildResult(images={}, problem="Cloud Build has no such build")
        except GoogleError as error:
            return error


def _in_turn(names: Sequence[str], turn: int, most: int) -> Iterator[str]:
    """Yield at most `most` of these names, other ones at every turn."""
    start = turn * most % len(names) if len(names) > most else 0
    return islice((*names[start:], *names[:start]), most)
