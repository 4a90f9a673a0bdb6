"""Jobs whose reports have all that a page can show: no result, costs, failures, a mixture, hostile names."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

Job = dict[str, Any]

SCRIPT = "<script>document.title='owned'</script>"
N_CROWDED_RUNS = 45
LONG = "long" * 50  # 200 characters without a space
TURNED = "\u202etxt.exe\u202c \u05d0\u05d1\u05d2"  # turns the direction of text
QUOTED = "\" onfocus=\"document.title='owned'\" x='"


def strategy(name: str, kind: str, **keys: Any) -> Job:
    return {"name": name, "strategy": kind, "capacity_tokens": 131072, "sp_degree": 8, **keys}


def hbp(name: str) -> Job:
    groups = [{"capacity_tokens": 16384, "sp_degree": 1}, {"capacity_tokens": 131072, "sp_degree": 8}]
    return {"name": name, "strategy": "hbp", "groups": groups}


def job(name: str, *strategies: Job, **keys: Any) -> Job:
    return {
        "format": 1,
        "name": name,
        "description": "Questions and answers mixed with long requests",
        "model": "llama3.1-8b",
        "cluster": {"type": "h100-sxm-80gb", "nodes": 4},
        "profile": "deepspeed-ulysses-h100",
        "training": {"tokens_per_iteration": 524288, "zero_stage": 1},
        "lengths": {
            "mix": [
                {"source": "gsm8k.csv", "count": 3000},
                {"source": "mixture_real_long_2k.csv", "count": 300},
            ]
        },
        "packing": {"over_long": "drop", "last_iteration": "repeat"},
        "baseline": strategies[0]["name"],
        "strategies": list(strategies),
        **keys,
    }


def jobs() -> dict[str, Job]:
    """A job for each report; its name is the file's."""
    isf, ffd = strategy("isf", "isf"), strategy("ffd", "ffd")
    too_large = strategy("does not fit", "isf", sp_degree=1)
    # Only packing shows how many iterations an epoch has, so this strategy fails when it runs.
    fails = strategy("fails", "ffd", curriculum_iterations=100_000)
    none = strategy("none", "none")
    return {
        "plain": job(
            "plain",
            isf,
            ffd,
            none,
            strategy("wrapped", "wrapped"),
            hbp("hbp"),
            {"name": "planner", "strategy": "planner"},
        ),
        "troubled": job("troubled", isf, hbp("hbp"), too_large, fails),
        "costs": job(
            "costs",
            isf,
            ffd,
            hbp("hbp"),
            cluster={"type": "h100-sxm-80gb", "nodes": 4, "gpu_hour_price": 2.5},
            variability={"rank_spread": 0.02},
            lengths={
                "mix": [
                    {"name": "questions", "source": "gsm8k.csv", "count": 3000, "groups": {"quantiles": 3}},
                    {"name": LONG, "source": "mixture_real_long_2k.csv", "count": 300},
                ]
            },
            mixing={
                "policy": "hbo",
                "draws": 3000,
                "update_every_steps": 2,
                "actor_steps": 2000,
                "curves": [
                    {"start": 1, "end": 0.2, "half_life_draws": 500},
                    {"subset": LONG, "start": 2, "end": 1, "half_life_draws": 500},
                ],
            },
            failures={
                "published": "llama3-405b-h100",
                "checkpoint": {"bandwidth_bytes_per_s": 2e10},
                "restart": {"detection_s": 60, "reschedule_s": 300},
            },
        ),
        "hostile": job(
            f"{SCRIPT} {TURNED} {LONG}",
            strategy(SCRIPT, "isf"),
            strategy(LONG, "ffd"),
            hbp(TURNED),
            strategy(QUOTED, "bfd"),
            description=f"{QUOTED} {LONG} {TURNED} </style></script>{SCRIPT}",
        ),
    }


def print_jobs() -> dict[str, Job]:
    """Those that are printed: one has more runs than rows of a chart fit on a page."""
    runs = [strategy(f"run {n}", "ffd") for n in range(1, N_CROWDED_RUNS + 1)]
    return {**jobs(), "crowded": job("crowded", *runs)}


def write_report(program: Path, name: str, folder: Path) -> Path:
    """The folder of the report of this job, which the program makes."""
    scenario = folder / f"{name}.json"
    scenario.write_text(json.dumps(print_jobs()[name]))
    report = folder / name
    command = [str(program), "compare", str(scenario), "--out", str(report), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}: packsim compare ended with {done.returncode}: {done.stderr}")
    return report
