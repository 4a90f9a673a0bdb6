"""The C++ part of the simulator, with arguments that the package has checked. No interface for users."""

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

@final
class Scenario:
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def baseline(self) -> str: ...
    @property
    def strategies(self) -> list[str]: ...
    def with_lengths(self, sources: Sequence[tuple[str, NDArray[np.int32]]]) -> Scenario: ...
    def given_lengths(self) -> list[tuple[str, NDArray[np.int32]]]: ...

@final
class Report:
    def to_json(self) -> str: ...
    def charts_json(self) -> str: ...
    def notebook_html(self) -> str: ...
    def save(self, folder: str) -> None: ...
    def columns(self) -> list[tuple[str, str, list[Any]]]: ...

@final
class Grid:
    def run(
        self,
        out: str,
        shard: str,
        merged: Sequence[str],
        only_jobs: Sequence[int] | None,
        threads: int,
        progress: Callable[[int, int, float, float], object] | None,
    ) -> None: ...
    def open(self, out: str) -> GridDatabase: ...

@final
class GridDatabase:
    def missing_parts(self, n_parts: int) -> list[list[int]]: ...
    def merge(self, path: str) -> None: ...
    def close(self) -> None: ...

def read_grid(
    path_or_text: str,
    name: str,
    varied: Sequence[str],
    axes: str,
    settings: Sequence[str],
    lengths: Sequence[tuple[str, NDArray[np.int32]]] | None,
    library: str,
) -> Grid: ...
def read_scenario(text_or_path: str, name: str, settings: Sequence[str], library: str) -> Scenario: ...
def compare(
    scenario: Scenario,
    strategies: Sequence[str],
    threads: int,
    command: str,
    progress: Callable[[str], object] | None,
) -> Report: ...
def schedule_file(
    scenario: Scenario, strategy: str, normaliser: str, progress: Callable[[str], object] | None
) -> bytes: ...
def recommend(
    text_or_path: str,
    name: str,
    settings: Sequence[str],
    library: str,
    lengths: Sequence[tuple[str, NDArray[np.int32]]] | None,
    offers: Sequence[tuple[str, float | None]],
    nodes: Sequence[int],
    most_gpus: int | None,
    deadline_hours: float | None,
    budget: float | None,
    fastest: bool,
    simulates_all: bool,
    says_sensitivity: bool,
    time_limit_s: float | None,
    threads: int,
    progress: Callable[[str], object] | None,
) -> tuple[str, list[tuple[str, str]], list[str]]: ...
def shell_command(words: Sequence[str]) -> str: ...
