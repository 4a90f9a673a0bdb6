"""The package and its stubs under mypy."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from cases import REPOSITORY
from run_command import run

pytest.importorskip("mypy")


def test_the_package_and_what_users_write_are_fully_typed(tmp_path: Path) -> None:
    config = REPOSITORY / "pyproject.toml"
    mypy = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(tmp_path / "cache")]
    if importlib.util.find_spec("torch") is None:  # then its classes are of unknown type
        mypy += ["--disable-error-code", "import-not-found", "--allow-subclassing-any"]
    run(*mypy, "-p", "packsim", folder=tmp_path)
    run(*mypy, "--warn-unused-ignores", Path(__file__).with_name("user.py"), folder=tmp_path)


def test_the_stubs_say_what_the_extensions_have(tmp_path: Path) -> None:
    # What pybind11 adds to every class: its metaclass, and an __init__ that refuses.
    (tmp_path / "allowed").write_text(r"packsim\._(core|simulator)\.[A-Z]\w*(\.__init__)?" + "\n")
    stubtest = [sys.executable, "-m", "mypy.stubtest", "--allowlist", "allowed"]
    run(*stubtest, "packsim._core", "packsim._simulator", folder=tmp_path)
