"""Fixtures that every test may ask for, and three rules.

A skipped test is a failed one, no test depends on a clock, and none sees what its user has at home (`tests.support.alone`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.depth import DEPTH, examples, is_long
from tests.order import ordered
from tests.support import alone
from tests.support.gitservers import Repository, quiet_git
from tests.support.servers import Kept, gcs_server, s3_server

pytest.register_assert_rewrite("bastion.testing", "tests.contract.fault_contract")  # suites that are no test modules

# A slow machine breaks no law; and the same code always gives the same answer.
settings.register_profile(
    "house",
    deadline=None,
    derandomize=DEPTH != "night",
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")


def pytest_configure(config: pytest.Config) -> None:
    """Have the run stand alone."""
    config.pluginmanager.register(alone)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Long ones are marked. Of those that are left, the longest come first, those of one engine on one worker; a run of a few
    tests keeps its order.
    """
    for item in items:
        if is_long(item.nodeid):
            item.add_marker("acceptance")
    yield
    workers = getattr(config, "workerinput", {}).get("workercount", 0)
    if workers:
        items[:] = ordered(items, lambda item: item.nodeid.partition("::")[0], workers)


STORES = pytest.StashKey[dict[str, Kept]]()


@pytest.fixture(scope="session")
def stores(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Kept]]:
    """The real servers of this session, each started when it is first asked for."""
    with ExitStack() as stack:
        starts = {"gcs": gcs_server, "s3": s3_server}
        kept = {name: Kept(tmp_path_factory.mktemp(name), start, stack) for name, start in starts.items()}
        pytestconfig.stash[STORES] = kept
        yield kept


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Name the test at whose end a server of all of them is gone."""
    for kept in item.config.stash.get(STORES, {}).values():
        kept.look(item.nodeid)


@pytest.fixture
def gcs_address(stores: dict[str, Kept]) -> str:
    """Where the real fake-gcs-server of this session listens."""
    return stores["gcs"].address()


@pytest.fixture
def s3_address(stores: dict[str, Kept]) -> str:
    """Where moto's S3 server of this session listens."""
    return stores["s3"].address()


@pytest.fixture
def s3_environ(s3_address: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Variables of AWS that lead to that server; they are set."""
    environ = {
        "AWS_ENDPOINT_URL": s3_address,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "/nowhere/config",
        "AWS_SHARED_CREDENTIALS_FILE": "/nowhere/credentials",
    }
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return environ


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that was skipped proves nothing: it fails. What it needs is installed by `.ci/install`."""
    report = yield
    if report.skipped:
        report.outcome, report.longrepr = "failed", f"skipped, which is not allowed here: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that is skipped as a whole."""
    report = yield
    if report.skipped:
        report.outcome, report.longrepr = "failed", f"skipped, which is not allowed here: {report.longrepr}"
    return report


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A git repository of the user's, beside nothing that this machine tells git."""
    quiet_git(tmp_path, monkeypatch)
    return Repository(tmp_path)
