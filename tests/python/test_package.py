"""The installed package: its version, command, data and size."""

from __future__ import annotations

import doctest
import importlib.metadata
import re
import sys
from pathlib import Path

import numpy as np
from cases import REPOSITORY
from run_command import run

import packsim
from packsim import _core, _mixture, _mixture_arms, _options, _pack, _simulator, _stream_packer, streaming
from packsim.simulator import scenario

PROGRAM = Path(sys.executable).parent / "packsim"
PACKAGE = Path(packsim.__file__).parent


def test_it_is_the_installed_package_that_is_tested() -> None:
    assert REPOSITORY / "python" not in PACKAGE.parents
    assert "site-packages" in PACKAGE.parts


def test_the_version_is_that_of_the_project() -> None:
    text = (REPOSITORY / "CMakeLists.txt").read_text()
    found = re.search(r"project\(packsim VERSION ([0-9.]+)", text)
    assert found is not None
    assert importlib.metadata.version("packsim") == found[1]
    # Behind the release stands the commit, or a hash of the sources, as a local version (PEP 440).
    assert re.fullmatch(
        re.escape(found[1]) + r"\+(g[0-9a-f]{12,}(\.dirty\.[0-9a-f]{8})?|sources\.[0-9a-f]{12})",
        packsim.__version__,
    )


def test_numpy_alone_is_needed() -> None:
    needed = [text for text in importlib.metadata.requires("packsim") or [] if "extra ==" not in text]
    assert [re.split(r"[<>=]", text)[0] for text in needed] == ["numpy"]


def test_the_command_finds_its_data(tmp_path: Path) -> None:
    assert run(PROGRAM, "--version", folder=tmp_path) == f"packsim {packsim.__version__}\n"
    shipped = {path.stem for path in (REPOSITORY / "scenarios").glob("*.json")}
    listed = run(PROGRAM, "list", "scenarios", folder=tmp_path)
    assert shipped and all(f"{name} " in listed for name in shipped)
    assert "h100" in run(PROGRAM, "list", "hardware-profiles", folder=tmp_path)
    run(PROGRAM, "check", "llama3.1-8b-tulu3-4k", folder=tmp_path)
    # The data are the wheel's, beside the program.
    data = PROGRAM.parents[1] / "share" / "packsim"
    lengths = "scenarios/lengths/gsm8k.csv"
    assert (data / lengths).read_bytes() == (REPOSITORY / lengths).read_bytes()


def test_the_command_lists_the_strategies_of_the_module(tmp_path: Path) -> None:
    names = [row.name for row in packsim.strategies()]
    lines = run(PROGRAM, "list", "strategies", folder=tmp_path).splitlines()
    assert [line.split()[0] for line in lines if line[:1].isalpha()][: len(names)] == names


def test_the_extensions_are_small() -> None:
    assert Path(_core.__file__).stat().st_size < 2_000_000
    assert Path(_simulator.__file__).stat().st_size < 20_000_000


def test_importing_it_loads_few_modules_beside_numpy(tmp_path: Path) -> None:
    # What an import takes is the number of modules; a clock would measure the machine's other work.
    code = (
        "import sys, numpy\nbefore = set(sys.modules)\nimport packsim\n"
        "print(sum(not name.startswith('packsim') for name in set(sys.modules) - before))"
    )
    assert int(run(sys.executable, "-c", code, folder=tmp_path)) < 30


def test_importing_it_imports_nothing_heavy(tmp_path: Path) -> None:
    heavy = {"torch", "pyarrow", "pandas", "packsim.simulator"}
    code = f"import sys, packsim\nprint(*{heavy} & sys.modules.keys())"
    assert run(sys.executable, "-c", code, folder=tmp_path) == "\n"


def test_examples_of_the_documentation_run() -> None:
    for module in (packsim, _mixture, _mixture_arms, _options, _pack, _stream_packer, streaming, scenario):
        results = doctest.testmod(module, extraglobs={"packsim": packsim, "numpy": np})
        assert results.attempted > 0
        assert results.failed == 0
