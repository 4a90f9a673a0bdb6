"""Copies of what the package returns, by copy and by any protocol of pickle: equal to the original."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from cases import arguments_of, heavy_tailed, rows

import packsim
from packsim.lengths import Lengths


def pickled(protocol: int, value: Any) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


COPIES: dict[str, Callable[[Any], Any]] = {"copy": copy.copy, "deepcopy": copy.deepcopy}
for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    COPIES[f"pickle {protocol}"] = partial(pickled, protocol)
LENGTHS = heavy_tailed(300, 1, 6000)


def results() -> dict[str, Any]:
    """One of each public class of results."""
    packing = packsim.pack(LENGTHS, over_long="split", strategy="isf", capacity_tokens=4096)
    plan = packsim.make_plan(packing, n_gpus=2)
    spans = packsim.LossSpans(np.array([0, 1, 2]), np.array([1, 2]), np.array([3, 4]))
    packer = packsim.StreamPacker(strategy="bfd", capacity_tokens=4096, window_samples=64)
    packs = packer.push(np.minimum(LENGTHS, 4096))
    values = [packing, packing.groups[0], packing.counts, packing.statistics, plan, plan.groups[0]]
    values += [plan.micro_batches(0)[0], plan.normaliser, plan.loss_bias(), packsim.balance([5, 3, 4], 1, 10)]
    values += [spans, Lengths(LENGTHS, source="x"), packer, packs, packer.counts]
    values += [packsim.strategies()[0], packsim.options("isf")[0]]
    return {type(value).__name__: value for value in values}


def content(value: Any) -> Any:
    """All that a value says, so that values of classes without == can be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, packsim.Plan):
        return value.to_bytes()
    if isinstance(value, packsim.StreamPacker):
        return json.dumps(value.state_dict())
    if isinstance(value, (tuple, list)):
        return [content(member) for member in value]
    names = [name for name in dir(type(value)) if not name.startswith("_")]
    names += [name for name in getattr(value, "__dict__", {}) if not name.startswith("_")]
    if type(value).__module__.startswith("packsim"):
        said = {name: getattr(value, name) for name in names}
        return {name: content(one) for name, one in said.items() if not callable(one)}
    return repr(value)


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", results())
def test_a_copy_says_what_the_original_says(name: str, how: str) -> None:
    value = results()[name]
    wanted = content(value)
    copied = COPIES[how](value)
    assert type(copied) is type(value)
    assert content(copied) == wanted
    assert content(value) == wanted


@pytest.mark.parametrize("how", COPIES)
def test_a_copied_packer_and_the_original_go_on_alike_and_apart(how: str) -> None:
    packer = packsim.StreamPacker(strategy="bfd", capacity_tokens=4096, window_samples=64)
    packer.push([700] * 100)
    other = COPIES[how](packer)
    assert content(other.push([900] * 50)) == content(packer.push([900] * 50))
    other.push([5] * 10)
    assert (packer.counts.n_samples, other.counts.n_samples) == (150, 160)


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_a_copied_packing_makes_no_plan_and_says_why(row: packsim.Strategy, how: str) -> None:
    packing = packsim.pack(LENGTHS, over_long="drop", **arguments_of(row))
    with pytest.raises(
        ValueError, match=r"packing: expected what pack\(\) returned in this process, got a copy"
    ):
        packsim.make_plan(COPIES[how](packing))
