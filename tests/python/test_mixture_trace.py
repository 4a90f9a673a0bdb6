"""write_trace(): lines that the simulator reads."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

_FILE = Path(__file__).resolve().parents[2] / "python/packsim/torch/mixing/trace.py"
_SPEC = importlib.util.spec_from_file_location("mixing_trace", _FILE)
assert _SPEC is not None and _SPEC.loader is not None
trace = importlib.util.module_from_spec(_SPEC)  # by its file, as its package needs PyTorch
_SPEC.loader.exec_module(trace)

HISTORY = [
    {"step": 0, "subsets": [0.75, 0.25], "groups": [[0.5, 0.5], [1.0]], "rewards": None, "n_draws": 0},
    {
        "step": 200,
        "subsets": [0.7, 0.3],
        "groups": [[0.4, 0.6], [1.0]],
        "rewards": {"subsets": [1.0, 2.0], "groups": [[0.5, 1.5], [1.0]]},
        "n_draws": 640,
    },
]


def test_a_trace_has_probabilities_and_rewards_by_name(tmp_path: Path) -> None:
    trace.write_trace(tmp_path / "trace.jsonl", HISTORY, ["chat", "long"])
    lines = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    assert lines == [
        {
            "step": 0,
            "probabilities": {
                "subsets": {"chat": 0.75, "long": 0.25},
                "groups": {"chat": [0.5, 0.5], "long": [1.0]},
            },
        },
        {
            "step": 200,
            "probabilities": {
                "subsets": {"chat": 0.7, "long": 0.3},
                "groups": {"chat": [0.4, 0.6], "long": [1.0]},
            },
            "rewards": {
                "subsets": {"chat": 1.0, "long": 2.0},
                "groups": {"chat": [0.5, 1.5], "long": [1.0]},
            },
        },
    ]


def test_other_names_than_subsets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"history\[0\].subsets: expected 1, one for each name, got 2"):
        trace.write_trace(tmp_path / "trace.jsonl", HISTORY, ["chat"])
    assert not (tmp_path / "trace.jsonl").exists()
