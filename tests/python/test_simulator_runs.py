"""packsim.compare, simulate and plan_of: what the program computes, from Python."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_command import run
from simulated import LENGTHS, PROGRAM, program_report, small_job, without_timings

import packsim


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("lengths.npy", LENGTHS)
    Path("job.json").write_text(json.dumps(small_job()))
    return tmp_path


def test_a_comparison_is_that_of_the_program_to_the_byte(folder: Path) -> None:
    for words, report in {
        ("compare", "job.json"): packsim.compare("job.json"),
        ("compare", "job.json", "--strategy", "isf", "--strategy", "bfd", "--threads", "2"): packsim.compare(
            packsim.load_scenario("job.json"), ["isf", "bfd"], threads=2
        ),
        ("run", "job.json", "--set", "seed=7", "--strategy", "planner"): packsim.simulate(
            packsim.load_scenario("job.json", set={"seed": 7}), "planner"
        ).report,
        ("compare", "llama3.1-8b-long-requests-128k"): packsim.compare("llama3.1-8b-long-requests-128k"),
    }.items():
        assert without_timings(report.to_json()) == without_timings(program_report(folder, *words))


def test_results_do_not_depend_on_threads_or_on_where_the_scenario_comes_from() -> None:
    from_file = [run.to_dict() for run in packsim.compare("job.json").runs]
    assert [run.to_dict() for run in packsim.compare(small_job(), threads=3).runs] == from_file


def test_a_job_that_no_file_holds_says_how_it_was_made() -> None:
    scenario = packsim.load_scenario(small_job())
    assert (
        packsim.compare(scenario, "bfd").manifest.command == "packsim.compare(scenario, ['bfd'], threads=1)"
    )


def test_one_strategy_needs_no_name_where_there_is_no_other() -> None:
    job = small_job(strategies=[{"strategy": "bfd"}])
    assert packsim.simulate(job).name == "bfd"
    with pytest.raises(ValueError, match=r"^strategy: expected one of isf, bfd, planner, got None$"):
        packsim.simulate(small_job())


def test_progress_is_told_on_the_calling_thread() -> None:
    told: list[tuple[str, int]] = []
    packsim.compare("job.json", threads=2, progress=lambda what: told.append((what, threading.get_ident())))
    assert told[0][0] == "reading lengths"
    assert any(what.startswith("planner: ") for what, _ in told)
    assert {thread for _, thread in told} == {threading.get_ident()}


def test_an_exception_of_progress_ends_the_comparison() -> None:
    told: list[str] = []

    def progress(what: str) -> None:
        told.append(what)
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        packsim.compare("job.json", progress=progress)
    assert len(told) == 1


def test_ctrl_c_ends_a_comparison_before_it_is_done() -> None:
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):  # of a job that takes tenths of a second
            packsim.compare("job.json")
    assert time.monotonic() - began < 60


def test_other_threads_run_meanwhile() -> None:
    is_over = threading.Event()
    turns = 0

    def count() -> None:
        nonlocal turns
        while not is_over.is_set():
            turns += 1
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    packsim.compare("llama3.1-8b-long-requests-128k", "hbp")
    during = turns
    is_over.set()
    other.join()
    assert during > 10


def test_mistakes_that_show_with_the_data_are_those_of_the_program() -> None:
    job = small_job(packing={"capacity_tokens": 4096, "over_long": "error"}, strategies=[{"strategy": "bfd"}])
    with pytest.raises(packsim.ScenarioError, match=r"^dict: /strategies/0: bfd: .*4096"):
        packsim.compare(job)
    with pytest.raises(ValueError, match=r"strategy: expected a strategy of dict, .*, got \"ffd\""):
        packsim.compare(small_job(), "ffd")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threads": 0}, "threads: expected integer in 1..256, got 0 (int)"),
        ({"threads": 257}, "threads: expected integer in 1..256, got 257 (int)"),
        ({"strategies": [3]}, "strategies: expected names of strategies, got 3 (int)"),
    ],
)
def test_arguments_are_refused_in_words(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        packsim.compare("job.json", **arguments)
    assert str(refused.value) == message


@pytest.mark.parametrize("strategy", ["bfd", "planner"])
def test_the_plan_of_a_run_is_what_the_program_writes(folder: Path, strategy: str) -> None:
    run(PROGRAM, "run", "job.json", "--strategy", strategy, "--write-plan", "job.plan", folder=folder)
    plan = packsim.simulate("job.json", strategy).plan()
    assert plan.to_bytes() == Path("job.plan").read_bytes()
    assert packsim.plan_of("job.json", strategy).content_hash == plan.content_hash
    assert plan.n_samples == len(LENGTHS)


def test_the_weights_of_a_plan_have_the_normaliser_that_is_asked_for(folder: Path) -> None:
    words = ("--strategy", "bfd", "--normaliser", "token_mean", "--write-plan", "job.plan")
    run(PROGRAM, "run", "job.json", *words, folder=folder)
    assert (
        packsim.plan_of("job.json", "bfd", normaliser="token_mean").to_bytes()
        == Path("job.plan").read_bytes()
    )
    with pytest.raises(ValueError, match=r"^normaliser: expected one of"):
        packsim.plan_of("job.json", "bfd", normaliser="mean")


def test_a_plan_that_does_not_fit_is_refused() -> None:
    job = small_job(model="llama3.1-70b", strategies=[{"strategy": "bfd"}])
    assert packsim.simulate(job).gpu_days is None
    message = r"^dict: /strategies/0: bfd: bfd: expected a plan that fits in memory for a schedule file"
    with pytest.raises(ValueError, match=message):
        packsim.plan_of(job)
