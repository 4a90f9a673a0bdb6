"""The published cases of tensors that are made of packs: positions, masks, ends of documents."""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import packsim  # noqa: E402
from packsim.torch import PackCollator, PackedBatch, PlanDataset, PlanSampler  # noqa: E402

CASES = json.loads(Path(__file__).with_name("published_torch_cases.json").read_text())["cases"]


def of_kind(kind: str) -> pytest.MarkDecorator:
    cases = [case for case in CASES if case["kind"] == kind]
    assert cases
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["id"])


def batches_of(packs: list[list[int]], strategy: str = "random", **options: Any) -> list[PackedBatch]:
    """One batch for each pack of these documents."""
    batches = []
    for lengths in packs:
        arguments: dict[str, Any] = {"batch_samples": len(lengths)} if strategy == "none" else {}
        packing = packsim.pack(
            lengths, strategy=strategy, capacity_tokens=sum(lengths), shuffle=False, **arguments
        )
        plan = packsim.make_plan(packing, order="as_packed")
        (micro_batch,) = PlanSampler(plan, 0, 1)
        dataset = PlanDataset([list(range(1, n + 1)) for n in lengths], plan)
        batches.append(PackCollator(plan, **options)(dataset.__getitems__(micro_batch)))
    return batches


@of_kind("position_ids")
def test_positions_begin_again_in_each_document(case: dict[str, Any]) -> None:
    found = [batch["position_ids"][0].tolist() for batch in batches_of(case["input"]["packs"])]
    assert found == case["expected"]["position_ids"]


@of_kind("flatten_batch")
def test_first_tokens_and_padding_have_no_loss(case: dict[str, Any]) -> None:
    multiple = case["input"]["pad_to_multiple_of"]
    packs = case["input"]["packs"]
    if multiple > 1:
        # The upstream collator puts the rows of a batch end to end and pads them together.
        packs = [[n for pack in packs for n in pack]]
    batches = batches_of(packs, pad_to_multiple_of=multiple)
    positions = torch.cat([batch["position_ids"][0] for batch in batches])
    assert positions.tolist() == case["expected"]["position_ids"]
    has_loss = torch.cat([batch["loss_weights"][0].gt(0) for batch in batches])
    assert has_loss.int().tolist() == case["expected"]["loss_mask"]
    assert torch.equal(has_loss, torch.cat([batch["labels"][0].ne(-100) for batch in batches]))


@of_kind("segment_mask")
def test_documents_end_where_segments_do(case: dict[str, Any]) -> None:
    masks = np.array(case["input"]["mask"])
    packs = [np.bincount(mask[mask > 0])[1:].tolist() for mask in masks]
    batches = batches_of(packs, pad_to_multiple_of=masks.shape[1])
    seqlens: list[int] = []
    indices: list[int] = []
    for row, batch in enumerate(batches):
        n_documents = len(batch["cu_seqlens"]) - 1 - (batch.n_padding_tokens > 0)
        lengths = batch["cu_seqlens"].diff()[:n_documents].tolist()
        seqlens += lengths
        indices += range(row * masks.shape[1], row * masks.shape[1] + sum(lengths))
    expected = case["expected"]
    assert seqlens == expected["seqlens"]
    assert [0, *accumulate(seqlens)] == expected["cu_seqlens"]
    assert indices == expected["indices"]
    assert max(batch["max_seqlen"] for batch in batches) == expected["max_seqlen"]


@of_kind("padding_mask")
def test_padding_is_what_is_behind_a_document(case: dict[str, Any]) -> None:
    lengths = np.diff(case["input"]["cu_seqlens"]).tolist()
    padded = np.diff(case["input"]["cu_seqlens_padded"]).tolist()
    # Each document is padded on its own, as rows are.
    assert len(set(padded)) == 1
    (batch,) = batches_of([lengths], strategy="none", pad_to_multiple_of=padded[0])
    assert (1 - batch["attention_mask"]).flatten().tolist() == case["expected"]["mask"]
