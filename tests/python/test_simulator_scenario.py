"""packsim.load_scenario: what the program reads and refuses, from Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import REPOSITORY
from simulated import LENGTHS, PROGRAM, small_job

import packsim
from packsim.lengths import Lengths


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("lengths.npy", LENGTHS)
    return tmp_path


def test_a_shipped_scenario_is_found_by_its_name() -> None:
    scenario = packsim.load_scenario("llama3.1-8b-tulu3-4k")
    shipped = json.loads((REPOSITORY / "scenarios/llama3.1-8b-tulu3-4k.json").read_text())
    assert scenario.name == shipped["name"]
    assert scenario.to_dict() == shipped
    assert scenario.baseline in scenario.strategies


def test_a_dict_is_as_a_file_of_the_current_folder() -> None:
    Path("job.json").write_text(json.dumps(small_job()))
    from_dict, from_file = packsim.load_scenario(small_job()), packsim.load_scenario(Path("job.json"))
    assert from_dict.to_dict() == from_file.to_dict() == small_job()
    assert from_dict.strategies == from_file.strategies == ("isf", "bfd", "planner")
    assert (from_dict.path, from_file.path) == ("dict", "./job.json")


def test_set_changes_it_as_the_program_does() -> None:
    scenario = packsim.load_scenario(
        small_job(), set={"cluster.nodes": np.int64(2), "strategies.bfd.capacity_tokens": "16K"}
    )
    assert scenario.to_dict()["cluster"]["nodes"] == 2
    assert scenario.to_dict()["strategies"][1]["capacity_tokens"] == "16K"


def bad_scenarios() -> list[Path]:
    return sorted((REPOSITORY / "tests/bad_scenarios").glob("*.json"))


def test_mistakes_are_those_that_the_program_prints() -> None:
    assert bad_scenarios()
    for path in bad_scenarios():
        printed = subprocess.run([PROGRAM, "compare", path, "--quiet"], capture_output=True, text=True)
        assert printed.returncode == 2, path
        with pytest.raises(ValueError) as refused:
            packsim.compare(path)
        if isinstance(refused.value, packsim.ScenarioError):
            assert list(refused.value.messages) == printed.stderr.splitlines(), path
            assert f"{refused.value}\n" == printed.stderr
        else:
            assert f"packsim: {refused.value}\n" == printed.stderr


def test_mistakes_in_a_dict_and_in_settings_say_so() -> None:
    with pytest.raises(packsim.ScenarioError) as refused:
        packsim.load_scenario(small_job(cluster={"type": "h100-sxm-80gb", "nodes": 0}, seed="x"))
    assert refused.value.messages == (
        'dict: /seed: expected integer in 0..4294967295, got "x" (string)',
        "dict: /cluster/nodes: expected integer in 1..65536, got 0 (number)",
    )
    with pytest.raises(packsim.ScenarioError, match=r"^--set cluster.nodes: expected integer"):
        packsim.load_scenario(small_job(), set={"cluster.nodes": "four"})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "scenario: expected a path, a name or a mapping, got 3 (int)"),
        ("no-such-name", "scenario: expected the name of a scenario"),
        ({"seed": object()}, "dict: expected what JSON can hold, got <object object"),
        ({"seed": float("nan")}, "dict: expected what JSON can hold, got {'seed': nan}"),
        ({1: {2, 3}}, "dict: expected what JSON can hold, got {2, 3} (set)"),
    ],
)
def test_what_is_no_scenario_is_refused_in_words(value: Any, message: str) -> None:
    with pytest.raises(packsim.ScenarioError) as refused:
        packsim.load_scenario(value)
    assert str(refused.value).startswith(message)


def test_a_file_that_the_system_refuses_is_an_os_error(folder: Path) -> None:
    with pytest.raises(OSError, match="no-such-folder/a.json"):
        packsim.load_scenario("no-such-folder/a.json")


def test_a_setting_is_refused_in_words() -> None:
    with pytest.raises(packsim.ScenarioError, match=r"^set seed: expected what JSON can hold, got nan"):
        packsim.load_scenario(small_job(), set={"seed": float("nan")})
    with pytest.raises(packsim.ScenarioError, match=r"^set: expected a mapping"):
        packsim.load_scenario(small_job(), set=["seed=1"])  # type: ignore[arg-type]


def lengths_of(scenario: packsim.Scenario) -> list[tuple[str, int, int]]:
    sources = packsim.compare(scenario, "bfd").lengths.sources
    return [(each.name, each.n_samples, each.n_tokens) for each in sources]


def test_arrays_take_the_place_of_files() -> None:
    scenario = packsim.load_scenario(small_job())
    from_file = packsim.compare(scenario, "bfd")
    from_array = packsim.compare(scenario.with_lengths(LENGTHS.astype(np.int64)[::1]), "bfd")
    assert from_array["bfd"].to_dict() == from_file["bfd"].to_dict()
    assert lengths_of(scenario.with_lengths({"chat": [5, 6], "code": range(3, 5)})) == [
        ("chat", 2, 11),
        ("code", 2, 7),
    ]
    assert scenario.with_lengths([5]).to_dict()["lengths"] == {
        "mix": [{"source": "lengths"}],
        "shuffle": False,
    }


def test_the_hash_tells_lengths_apart_and_not_their_types() -> None:
    scenario = packsim.load_scenario(small_job())

    def hash_of(lengths: Any) -> str:
        return str(packsim.compare(scenario.with_lengths(lengths), "bfd").lengths.sources[0].hash)

    assert hash_of([5, 6]) == hash_of(np.array([5, 6], dtype=np.uint16)) != hash_of([6, 5])


def test_what_packsim_lengths_reads_is_taken() -> None:
    scenario = packsim.load_scenario(small_job())
    assert lengths_of(scenario.with_lengths("lengths.npy")) == [("lengths", 1500, int(LENGTHS.sum()))]
    assert lengths_of(scenario.with_lengths(Lengths(LENGTHS[:2]))) == [("lengths", 2, int(LENGTHS[:2].sum()))]
    # Token ids of two samples.
    assert lengths_of(scenario.with_lengths([[1, 2, 3], [4, 5]])) == [("lengths", 2, 5)]


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        (np.array([1, -1], np.int32), "lengths: sample 1: expected integer in 0..16777216, got -1"),
        ({"chat": [16777217]}, "chat: sample 0: expected integer in 0..16777216, got 16777217"),
        ({"chat": np.zeros(0, np.int32)}, "chat: all samples: expected at least one length, got none"),
        ({}, "lengths: expected at least one source, got none"),
        ({3: [1]}, "lengths: expected names of sources, got 3 (int)"),
        ({"chat": np.array([1.5])}, "chat: expected integer dtype, got float64"),
        (np.ones((2, 2), np.int32), "lengths: expected one dimension, got shape (2, 2)"),
    ],
)
def test_lengths_that_cannot_be_trained_are_refused(lengths: Any, message: str) -> None:
    scenario = packsim.load_scenario(small_job())
    with pytest.raises(ValueError) as refused:
        scenario.with_lengths(lengths)
    assert str(refused.value) == message
