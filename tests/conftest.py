"""Fixtures that every test may ask for, and two rules: a skipped test is a failed one, and no test depends on a clock."""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import gcs_server, s3_server

pytest.register_assert_rewrite("bastion_testing", "tests.contract.fault_contract")  # suites that are no test modules

# A slow machine breaks no law; and the same code always gives the same answer.
settings.register_profile("house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

IMAGES = Path(__file__).parent / "images"


def pytest_configure() -> None:
    """What runs in a script's background ignores Ctrl-C, and so would all programs that it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Images come first: nobody takes from a worker what it begins with, so one alone makes the engine and the base."""
    items.sort(key=lambda item: not item.path.is_relative_to(IMAGES))


@pytest.fixture(scope="session")
def gcs_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the real fake-gcs-server of this session listens."""
    with gcs_server(tmp_path_factory.mktemp("gcs")) as address:
        yield address


@pytest.fixture(scope="session")
def s3_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where moto's S3 server of this session listens."""
    with s3_server(tmp_path_factory.mktemp("s3")) as address:
        yield address


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
