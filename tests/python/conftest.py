"""Processes that tests of packsim.torch share."""

from __future__ import annotations

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
