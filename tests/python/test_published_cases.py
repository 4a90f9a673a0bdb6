"""The published cases that the packing core is held to, through arrays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cases import REPOSITORY

import packsim

CASES = json.loads((REPOSITORY / "tests/packing/published_cases.json").read_text())["cases"]
# Where the published result is a bug or a rule that is not shared: tests/packing/published_cases_test.cpp.
DIFFERENT = {"isf.quirk.lost_open_pack", "longalign.pack.0", "longalign.pack.1"}
OURS = {
    "next_fit": "random",
    "longalign_next_fit_strict": "longalign",
    "first_fit": "ffs",
    "first_fit_shuffle": "ffs",
    "first_fit_decreasing": "ffd",
    "largest_that_fits_one_bin_at_a_time": "ffd",
    "bfd_split": "bfd",
}


def of_kind(*kinds: str) -> pytest.MarkDecorator:
    cases = [case for case in CASES if case["kind"] in kinds and case["id"] not in DIFFERENT]
    assert cases
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["id"])


def packs_of(case: dict[str, Any], lengths: list[int], **arguments: Any) -> packsim.Packing:
    upstream = case["input"]["strategy"]
    strategy = arguments.pop("strategy", OURS.get(upstream, upstream))
    row = next(row for row in packsim.strategies() if row.name == strategy)
    if "shuffle" in row.options and strategy != "isf":
        arguments["shuffle"] = False
    return packsim.pack(lengths, strategy=strategy, capacity_tokens=case["input"]["capacity"], **arguments)


@of_kind("pack")
def test_packs_of_whole_samples(case: dict[str, Any]) -> None:
    given = case["input"]
    lengths = given["lengths"]
    # NeMo-RL sorts (length, index) downwards: among equal lengths the last comes first.
    is_reversed = given["strategy"] == "first_fit_decreasing_rev_ties"
    arguments = {"over_long": "own_pack", "empty": "keep"}
    if is_reversed:
        packing = packs_of(case, lengths[::-1], strategy="ffd", **arguments)
    elif "max_per_bin" in given:
        packing = packs_of(
            case,
            lengths,
            strategy="axolotl_multipack",
            max_samples_per_pack=given["max_per_bin"],
            **arguments,
        )
    else:
        packing = packs_of(case, lengths, **arguments)
    packs = [samples.tolist() for samples in packing.groups[0]]
    if is_reversed:
        packs = [[len(lengths) - 1 - sample for sample in samples] for samples in packs]
    assert packs == case["expected"]["bins"]


@of_kind("pack_pieces")
def test_packs_of_pieces(case: dict[str, Any]) -> None:
    over_long = "truncate" if case["input"]["strategy"] == "bfd" else "split"
    group = packs_of(case, case["input"]["lengths"], over_long=over_long).groups[0]
    pieces = list(
        zip(group.samples.tolist(), group.starts_tokens.tolist(), group.tokens.tolist(), strict=True)
    )
    ends = group.offsets.tolist()
    packs = [[list(piece) for piece in pieces[a:b]] for a, b in zip(ends[:-1], ends[1:], strict=True)]
    assert packs == case["expected"]["bins"]


@of_kind("isf")
def test_isf(case: dict[str, Any]) -> None:
    given = case["input"]
    packing = packsim.pack(
        given["lengths"],
        strategy="isf",
        capacity_tokens=given["capacity"],
        over_long="drop",
        threshold_tokens=given["threshold"],
        rounds=given["iterations"],
        seed=given["seed"],
    )
    assert [samples.tolist() for samples in packing.groups[0]] == case["expected"]["bins"]


@of_kind("histogram_pack")
def test_histogram_packing(case: dict[str, Any]) -> None:
    lengths = case["input"]["lengths"]
    packing = packs_of(case, lengths, max_samples_per_pack=case["input"]["max_per_pack"])
    assert packing.n_packs == case["expected"]["num_packs"]
    packs = sorted(sorted(lengths[sample] for sample in samples) for samples in packing.groups[0])
    published = [sorted(pack) for pack, count in case["expected"]["packs_with_count"] for _ in range(count)]
    assert packs == sorted(published)


@of_kind("pack_error")
def test_what_others_refuse_is_refused(case: dict[str, Any]) -> None:
    for upstream in case["input"]["strategies"]:
        if upstream == "mffd":  # no strategy here
            continue
        with pytest.raises(ValueError, match="lengths_tokens: expected lengths of at most"):
            packsim.pack(
                case["input"]["lengths"],
                strategy=OURS.get(upstream, upstream),
                capacity_tokens=case["input"]["capacity"],
            )
