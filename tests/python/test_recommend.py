"""packsim.recommend: the program's answer, from Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated import LENGTHS, PROGRAM, small_job

import packsim

# Two strategies that train the same job, in moments.
JOB = small_job(
    packing={"capacity_tokens": 32768, "sp_degree": 4, "last_iteration": "shorten"},
    strategies=[{"strategy": "isf"}, {"strategy": "bfd"}],
)
GPUS = {"h100-sxm-80gb": 2.5, "h200-sxm-141gb": 30.0}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("lengths.npy", LENGTHS)
    Path("job.json").write_text(json.dumps(JOB))
    return tmp_path


def by_program(*options: str) -> dict[str, Any]:
    gpus = [f"{name}={price}" for name, price in GPUS.items()]
    words = [
        PROGRAM,
        "recommend",
        "job.json",
        "--gpus",
        *gpus,
        "--nodes",
        "1,2",
        "--json",
        "--quiet",
        *options,
    ]
    answer: dict[str, Any] = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    return answer


def test_the_answer_is_the_programs() -> None:
    expected = by_program("--deadline", "100")
    found = packsim.recommend("job.json", GPUS, deadline_hours=100, nodes=[2, 1])
    assert found.to_dict() == expected
    asked = packsim.recommend("job.json", GPUS, deadline_hours=100, nodes=[1, 2], sensitivity=True)
    assert asked.to_dict() == by_program("--deadline", "100", "--sensitivity")
    assert asked.to_dict()["sensitivity"]
    assert packsim.recommend(JOB, GPUS, deadline_hours=100, nodes=[1, 2]).to_dict() == expected
    assert found.best is not None
    assert found.best.to_dict() == expected["candidates"][expected["best"]]
    assert found.ranking[0].to_dict() == found.best.to_dict()
    assert "h100-sxm-80gb" in repr(found) and found.best.strategy in found._repr_html_()


def test_its_scenario_repeats_it_and_its_settings_are_files() -> None:
    found = packsim.recommend("job.json", GPUS, deadline_hours=100, nodes=[1, 2])
    assert found.best is not None and found.scenario is not None
    run = packsim.simulate(found.scenario, found.best.strategy)
    assert run.gpu_days == found.best.times.gpu_days
    found.save_settings("settings")
    assert json.loads(Path("settings/deepspeed/deepspeed.json").read_text())["bf16"]["enabled"]
    written = (path for path in Path("settings").rglob("*") if path.is_file())
    assert sorted(str(path.relative_to("settings")) for path in written) == sorted(found.settings)


def test_lengths_may_be_an_array() -> None:
    found = packsim.recommend("job.json", GPUS, deadline_hours=100, nodes=[1], lengths=LENGTHS)
    assert found.best is not None and found.scenario is not None
    run = packsim.simulate(found.scenario, found.best.strategy)
    assert run.gpu_days == found.best.times.gpu_days


def test_no_cluster_may_keep_to_the_limits() -> None:
    found = packsim.recommend("job.json", GPUS, deadline_hours=1e-6, nodes=[1])
    assert found.best is None and found.scenario is None and found.settings == {}
    assert "no cluster" in repr(found)
    with pytest.raises(ValueError, match="none that keeps to the limits"):
        found.save_settings("settings")


def test_a_time_limit_gives_what_is_known() -> None:
    found = packsim.recommend("job.json", GPUS, deadline_hours=100, nodes=[1, 2], time_limit_s=1e-9)
    assert found.is_complete is False and found.best is None and "limits so far" in repr(found)
    assert {candidate.standing for candidate in found.candidates} == {"not_reached"}
    found = packsim.recommend("job.json", GPUS, deadline_hours=100, nodes=[1], time_limit_s=600)
    assert found.is_complete is True and found.best is not None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"deadline_hours": None}, "expected at least one of deadline_hours, budget and most_gpus"),
        ({"deadline_hours": -1}, "deadline_hours: expected a number above 0, got -1"),
        ({"budget": "much"}, "budget: expected a number above 0"),
        ({"goal": "best"}, "goal: expected one of cheapest, fastest"),
        ({"nodes": [0]}, "nodes: expected integer in 1..65536, got 0"),
        ({"time_limit_s": 0}, "time_limit_s: expected a number above 0, got 0"),
        ({"threads": 0}, "threads: expected integer in 1..256, got 0"),
        ({"gpus": {}}, "expected"),
        ({"gpus": {"h100-sxm-80gb": 2.5, "h200-sxm-141gb": None}}, "price"),
        ({"gpus": {7: 1.0}}, "gpus: expected types of clusters, got 7"),
    ],
)
def test_bad_questions_are_refused(changes: dict[str, Any], message: str) -> None:
    question: dict[str, Any] = {"gpus": GPUS, "deadline_hours": 100, "nodes": [1], **changes}
    with pytest.raises(ValueError, match=message):
        packsim.recommend("job.json", question.pop("gpus"), **question)
