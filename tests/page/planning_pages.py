"""Databases of sweeps, made up so that a planning page has all that it can show, and the pages of them."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

from jobs import LONG, QUOTED, SCRIPT, TURNED

N_LARGE = 10_000
_GIB = 1024.0**3
_AMOUNTS = ["gpu_days", "gpu_days_low", "gpu_days_high", "wall_hours", "cost", "cost_low", "cost_high"]
_COLUMNS = {
    "status": "TEXT NOT NULL",
    "reason": "TEXT",
    "n_gpus": "INTEGER",
    "zero_stage": "INTEGER",
    "groups": "TEXT",
    "plan": "TEXT",
    "peak_memory_bytes": "REAL",
    "gpu_memory_bytes": "REAL",
    "warnings": "TEXT",
    "name": "TEXT",
    "differences": "TEXT",
    "step_mean_s": "REAL",
    "step_p99_s": "REAL",
    **dict.fromkeys(_AMOUNTS, "REAL"),
    "tokens_per_s_per_gpu": "REAL",
    "mfu_fraction": "REAL",
    "idle_fraction": "REAL",
    "abr": "REAL",
    "cr": "REAL",
    "extrapolated_fraction": "REAL",
}

Row = dict[str, Any]


def _point(draw: random.Random, strategy: str, nodes: int, kind: str, sp: int, gc: int, zero: int) -> Row:
    """A point whose numbers hang together, and some points that fit nowhere or train another job."""
    n_gpus = 8 * nodes
    price = 2.5 if kind.startswith("h100") else 3.2
    memory = 80.0 if kind.startswith("h100") else 141.0
    row: Row = {
        "name": strategy,
        "cluster.nodes": nodes,
        "cluster.type": kind,
        "training.zero_stage": zero,
        "status": "ok",
        "n_gpus": n_gpus,
        "zero_stage": zero,
        "groups": f"16384 tokens, GC {gc}; 131072 tokens, SP {sp}, GC {gc}",
        "plan": json.dumps({"groups": [{"sp_degree": sp, "gc_layers": gc}]}),
        "gpu_memory_bytes": memory * _GIB,
    }
    peak = (30 + 120 / sp + 40 / zero - 0.6 * gc) * draw.uniform(0.9, 1.1)
    row["peak_memory_bytes"] = peak * _GIB
    if peak > memory:
        row |= {
            "status": "does not fit",
            "reason": f"group 128K needs {peak:.1f} of {memory:.1f} GiB ({peak - memory:.1f} GiB too much)",
        }
        return row
    if draw.random() < 0.03:
        return row | {"status": "failed", "reason": "the strategy found no packs", "groups": None, "plan": None}
    if draw.random() < 0.05:
        row["differences"] = (
            "12 of 12 iterations train more than 576,716 tokens, for the 524,288 of tokens_per_iteration"
        )
    days = (0.8 + 0.004 * n_gpus + 0.02 * gc + 0.05 * abs(sp - 4)) * draw.uniform(0.9, 1.4)
    spread = draw.uniform(0.03, 0.2)
    cost = 24 * days * price
    step_s = 900 * days / n_gpus
    return row | {
        "gpu_days": days,
        "gpu_days_low": days * (1 - spread),
        "gpu_days_high": days * (1 + spread),
        "wall_hours": 24 * days / n_gpus,
        "cost": cost,
        "cost_low": cost * (1 - spread),
        "cost_high": cost * (1 + spread),
        "step_mean_s": step_s,
        "step_p99_s": step_s * 1.3,
        "tokens_per_s_per_gpu": 3000 / days,
        "mfu_fraction": 0.3 / days,
        "idle_fraction": draw.uniform(0, 0.5),
        "abr": draw.uniform(0, 0.6),
        "cr": draw.uniform(0, 1),
        "extrapolated_fraction": draw.uniform(0, 0.9),
    }


def points(n_points: int, strategies: list[str] | None = None) -> list[Row]:
    """The first points of a grid of five keys; the same ones every time."""
    draw = random.Random(1)
    names = strategies or ["isf", "ffd", "hbp", "planner", "sorted"]
    grid = list(
        product(
            names,
            [1, 2, 4, 8, 16, 32],
            ["h100-sxm-80gb", "h200-sxm-141gb"],
            [1, 2, 4, 8, 16],
            range(0, 33, 3),
            [1, 2, 3],
        )
    )
    draw.shuffle(grid)
    while len(grid) < n_points:
        grid += grid[: n_points - len(grid)]
    return [_point(draw, *choice) for choice in grid[:n_points]]


def write_sweep(path: Path, rows: list[Row], scenario: str = "made-up") -> None:
    """A database as `packsim sweep` writes it (docs/sweep.md)."""
    varied = {"cluster.nodes": "INTEGER", "cluster.type": "TEXT", "training.zero_stage": "INTEGER"}
    columns = {**varied, **_COLUMNS}
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE sweep (fact TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")
        database.executemany(
            "INSERT INTO sweep VALUES (?, ?)", [("scenario", scenario), ("points", str(len(rows)))]
        )
        typed = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
        database.execute(f"CREATE TABLE points (point INTEGER PRIMARY KEY, {typed})")
        marks = ", ".join("?" * (len(columns) + 1))
        database.executemany(
            f"INSERT INTO points VALUES ({marks})",
            [(number, *(row.get(name) for name in columns)) for number, row in enumerate(rows)],
        )
    database.close()


def recommendation() -> Row:
    """A recommendation of two clusters, with hostile names, and with cases that have no times."""

    def times(hours: float) -> Row:
        found: Row = {}
        for key, value in (("wall_hours", hours), ("gpu_days", hours / 3), ("money", 60 * hours)):
            found |= {key: value, f"{key}_low": 0.9 * value, f"{key}_high": 1.1 * value}
        return found

    def case(what: str, hours: float | None) -> Row:
        reason = "" if hours else f"{SCRIPT} does not fit"
        return {
            "what": what,
            "settings": [],
            "reason": reason or None,
            "times": times(hours) if hours else None,
        }

    def candidate(nodes: int, standing: str, hours: float | None) -> Row:
        return {
            "cluster_type": "h100-sxm-80gb",
            "nodes": nodes,
            "n_gpus": 8 * nodes,
            "least_gpu_hours": 3.0,
            "strategy": SCRIPT if hours else None,
            "standing": standing,
            "reason": None if standing == "meets" else "too slow",
            "zero_stage": 1,
            "groups": "131072 tokens, SP 8, GC 32",
            "times": times(hours) if hours else None,
        }

    changes = [("samples of long.csv", 0.5, 2.0), ("network cards", 1.3, None), (SCRIPT, 0.9, 1.1)]
    return {
        "format": 1,
        "question": {
            "goal": "cheapest",
            "deadline_hours": 4.0,
            "budget": None,
            "most_gpus": None,
            "gpus": [],
            "nodes": [],
        },
        "best": 1,
        "ranking": [1],
        "pareto": [1],
        "fewest_gpus": 16,
        "candidates": [
            candidate(1, "misses", 5.0),
            candidate(2, "meets", 1.0),
            candidate(4, "ruled_out", None),
        ],
        "sensitivity": [
            {"what": what, "less": case("x 0.5", less), "more": case("x 2", more)}
            for what, less, more in changes
        ],
        "warnings": [],
    }


def write_page(program: Path, name: str, folder: Path) -> Path:
    """The folder of a page `planning.html`, which the program makes, and of what it is made from."""
    folder = folder / name
    folder.mkdir()
    command = [str(program), "page", "--quiet", "--out", str(folder / "planning.html")]
    sweeps = {
        "large": points(N_LARGE),
        "small": points(60),
        "hostile": points(200, [SCRIPT, LONG, TURNED, QUOTED]),
    }
    if name in sweeps:
        write_sweep(
            folder / "sweep.db", sweeps[name], f"{SCRIPT} {TURNED} {LONG}" if name == "hostile" else name
        )
        command.append(str(folder / "sweep.db"))
    if name in ("recommended", "small"):
        answer = recommendation()
        if name == "small":  # its filters begin without a limit
            answer["question"]["deadline_hours"] = None
        (folder / "recommendation.json").write_text(json.dumps(answer))
        command += ["--recommendation", str(folder / "recommendation.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}: packsim page ended with {done.returncode}: {done.stderr}")
    return folder
