"""Processes that tests of packsim.torch share, and what a missing package means."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from process_pool import ProcessPool, started


@pytest.fixture(scope="session")
def two_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessPool]:
    with started(2, tmp_path_factory.mktemp("two_processes")) as pool:
        yield pool


@pytest.fixture(scope="session")
def four_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessPool]:
    with started(4, tmp_path_factory.mktemp("four_processes")) as pool:
        yield pool


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where every package is said to be installed, a test that is skipped for want of one is a failure."""
    if os.environ.get("PACKSIM_TEST_NEEDS_ALL") and _not_imported:
        print("\nnot imported, though all packages are said to be installed:", *_not_imported, sep="\n  ")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note_skip(report)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note_skip(report)


def _note_skip(report: pytest.CollectReport | pytest.TestReport) -> None:
    if report.skipped and "could not import" in str(report.longrepr):
        _not_imported.append(f"{report.nodeid}: {report.longrepr}")


_not_imported: list[str] = []
