"""Columns of samples: each follows a rule, nothing is lost, all is in its place."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from cases import REPOSITORY, rows  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from training_cases import drawn_lengths, plan_of, token_ids  # noqa: E402

import packsim  # noqa: E402
from packsim.torch import (  # noqa: E402
    COLUMN_RULES,
    Column,
    PackCollator,
    PackedBatch,
    PlanDataset,
    PlanSampler,
    SequenceGroups,
)

LENGTHS = [5, 3, 2]
IDS = [[11, 12, 13, 14, 15], [21, 22, 23], [31, 32]]


def plan_with(lengths: list[int] = LENGTHS, **more: Any) -> packsim.Plan:
    return packsim.make_plan(packsim.pack(lengths, strategy="ffd", capacity_tokens=12), **more)


def batch_of(samples: list[Any], plan: packsim.Plan | None = None, **options: Any) -> PackedBatch:
    plan = plan or plan_with()
    return PackCollator(plan, **options)(PlanDataset(samples, plan).__getitems__(plan.micro_batches(0)[0]))


def with_column(name: str, values: list[Any]) -> list[Any]:
    return [{"input_ids": ids, name: value} for ids, value in zip(IDS, values, strict=True)]


def test_each_rule_has_its_place_in_the_batch() -> None:
    samples = [
        {
            "input_ids": ids,
            "attention_mask": [1] * len(ids),
            "token_type_ids": [i] * len(ids),
            "advantages": [0.5 + i] * len(ids),
            "reward": float(i),
            "pixel_values": np.full((2 * i, 3), i, dtype=np.float32),
            "text": f"sample {i}",
        }
        for i, ids in enumerate(IDS)
    ]
    rules = {
        "advantages": Column("concatenate", fill=-1, dtype=torch.float64),
        "reward": "stack",
        "pixel_values": "concatenate_documents",
        "text": "keep",
    }
    batch = batch_of(samples, plan_with(padding="capacity"), columns=rules)
    assert batch["token_type_ids"].tolist() == [[0] * 5 + [1] * 3 + [2] * 2 + [0] * 2]
    assert batch["advantages"].tolist() == [[0.5] * 5 + [1.5] * 3 + [2.5] * 2 + [-1] * 2]
    assert batch["advantages"].dtype == torch.float64
    assert (batch["reward"].tolist(), batch["reward"].dtype) == ([0, 1, 2], torch.float32)
    assert batch["pixel_values"].tolist() == [[1] * 3] * 2 + [[2] * 3] * 4
    assert batch["pixel_values_counts"].tolist() == [0, 2, 4]
    assert batch["text"] == ["sample 0", "sample 1", "sample 2"]
    assert "attention_mask" not in batch
    assert batch.token_columns == ("advantages", "token_type_ids")
    assert "text" not in batch_of(samples, columns=rules | {"text": "drop"})


def test_a_column_without_a_rule_is_an_error_that_names_the_rules() -> None:
    with pytest.raises(ValueError) as error:
        batch_of(with_column("completion_mask", [[1] * 5, [1] * 3, [1] * 2]))
    assert str(error.value).startswith(
        "column 'completion_mask': expected a rule for it, as columns={'completion_mask': RULE}, got none, "
        "and sample 0 has [1, 1, 1, 1, 1] (list). Rules are 'concatenate': a value for each token"
    )
    assert all(f"'{rule}': " in str(error.value) for rule in COLUMN_RULES)


@pytest.mark.parametrize(
    ("rule", "values", "message"),
    [
        ("concatenate", [[1] * 5, [1] * 4, [1] * 2], "sample 1: .* expected 3 values, .* got 4 values: "),
        ("concatenate", [1, 2, 3], r"sample 0: .* expected 5 values, one for each token, got 1 \(int\)"),
        (
            "concatenate",
            [["a"] * 5, ["b"] * 3, ["c"] * 2],
            "sample 0: .* expected numbers of one shape, got ",
        ),
        ("concatenate", [[1] * 5, [1.5] * 3, [1] * 2], r"sample 1: .* shape \(\) of torch.int64, got shape "),
        (
            "stack",
            [[1, 2], [1, 2, 3], [1, 2]],
            r"sample 1: .* expected shape \(2,\) of .* got shape \(3,\) of",
        ),
        ("stack", ["a", "b", "c"], "sample 0: .* expected numbers of one shape, got 'a'"),
        ("concatenate_documents", [[[1, 2]], [[1, 2, 3]], []], r"sample 1: .* shape \(2,\) .* shape \(3,\)"),
        ("concatenate_documents", [[[1, 2]], 7, []], "sample 1: .* expected numbers of one shape, got 7"),
        (
            "concatenate_documents",
            [None, [], None],
            r"columns\['x'\]: expected a Column with a dtype and a shape",
        ),
        (
            Column("concatenate", fill=-1, dtype=torch.uint8),
            [[1] * 5, [1] * 3, [1] * 2],
            r"fill: expected a value",
        ),
    ],
)
def test_values_that_do_not_fit_their_rule_are_refused(rule: Any, values: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        batch_of(with_column("x", values), columns={"x": rule})


def test_masks_of_padded_samples_are_refused() -> None:
    samples = with_column("attention_mask", [[1] * 5, [1, 1, 0], [1] * 2])
    with pytest.raises(
        ValueError, match="sample 1: column 'attention_mask': expected 3 ones, .* got 2 ones: "
    ):
        batch_of(samples)
    assert batch_of(samples, columns={"attention_mask": "drop"})["input_ids"].shape == (1, 10)


@pytest.mark.parametrize("rule", ["concatenate", "stack", "keep", "concatenate_documents"])
def test_a_column_that_some_samples_lack_is_refused(rule: str) -> None:
    samples = [{"input_ids": IDS[0], "x": [1] * 5}, {"input_ids": IDS[1]}, IDS[2]]
    with pytest.raises(
        ValueError, match="column 'x': expected in every sample, got none in sample 1, and 1 more"
    ):
        batch_of(samples, columns={"x": rule})
    with pytest.raises(
        ValueError, match="column 'x': expected in every sample, got none in sample 0, and 2 more"
    ):
        batch_of(list(IDS), columns={"x": rule})


def test_rules_that_cannot_be_are_refused_at_once() -> None:
    with pytest.raises(ValueError) as error:
        PackCollator(
            plan_with(), columns={"labels": "keep", "position_ids": "stack", "x": "concat", "y": "drop"}
        )
    labels, positions, x = str(error.value).splitlines()
    assert labels == "columns['labels']: expected none, as the collator knows it, got 'keep'"
    assert positions.startswith(
        "columns['position_ids']: expected ones or drop, as the collator makes its own"
    )
    assert x.startswith("columns['x']: expected one of concatenate, ") and "did you mean concatenate" in x
    samples = with_column("x", [[[1]], [[2]], [[3]]])
    for sample in samples:
        sample["x_counts"] = 1
    expected = "column 'x_counts': expected names that the batch has not yet, got 'x_counts'"
    with pytest.raises(ValueError, match=expected):
        batch_of(samples, columns={"x": "concatenate_documents", "x_counts": "stack"})


def test_images_of_samples_that_are_cut_are_refused() -> None:
    packing = packsim.pack([20, 3], strategy="ffd", capacity_tokens=12, over_long="truncate")
    plan = packsim.make_plan(packing)
    samples = [{"input_ids": [1] * n, "pixels": [[1.0]]} for n in (20, 3)]
    dataset, collator = (
        PlanDataset(samples, plan),
        PackCollator(plan, columns={"pixels": "concatenate_documents"}),
    )
    of_sample = {m.samples.tolist()[0]: m for m in plan.micro_batches(0) + plan.micro_batches(1)}
    assert collator(dataset.__getitems__(of_sample[1]))["pixels"].tolist() == [[1.0]]
    expected = "sample 0: column 'pixels': expected a whole sample with tokens, .* got tokens 0 to 12 of 20"
    with pytest.raises(ValueError, match=expected):
        collator(dataset.__getitems__(of_sample[0]))
    samples[0]["pixels"] = []
    empty = PackCollator(
        plan, columns={"pixels": Column("concatenate_documents", dtype=torch.half, shape=(1,))}
    )
    made = empty(dataset.__getitems__(of_sample[0]))
    assert (made["pixels"].shape, made["pixels"].dtype) == ((0, 1), torch.half)
    assert made["pixels_counts"].tolist() == [0]


@pytest.mark.parametrize("strategy", ["ffd", "none"])
def test_an_empty_micro_batch_has_the_same_columns(strategy: str) -> None:
    plan = packsim.make_plan(
        packsim.pack([4] * 3, strategy=strategy, capacity_tokens=4), n_gpus=2, last_iteration="shorten"
    )
    sample = {
        "input_ids": [1] * 4,
        "token_type_ids": [0] * 4,
        "hidden": np.ones((4, 6), dtype=np.float16),
        "pixels": [[1.0, 2.0]] * 5,
        "reward": [1, 2, 3],
        "text": "a",
    }
    rules = {"hidden": "concatenate", "pixels": "concatenate_documents", "reward": "stack", "text": "keep"}
    dataset, collator = PlanDataset([sample] * 3, plan), PackCollator(plan, columns=rules)
    micro_batches = [m for rank in range(2) for m in PlanSampler(plan, rank, 2)]
    full, empty = (
        collator(dataset.__getitems__(next(m for m in micro_batches if bool(len(m)) == has_samples)))
        for has_samples in (True, False)
    )
    assert full.keys() == empty.keys()
    assert full.token_columns == empty.token_columns == ("hidden", "token_type_ids")
    tensors = [name for name, value in full.items() if isinstance(value, torch.Tensor)]
    assert {name: full[name].dtype for name in tensors} == {name: empty[name].dtype for name in tensors}
    assert empty["hidden"].tolist() == [[[0] * 6]]
    assert empty["token_type_ids"].shape == empty["input_ids"].shape == (1, 1)
    assert (empty["pixels"].shape, empty["pixels_counts"].shape) == ((0, 2), (0,))
    assert (empty["reward"].shape, empty["text"]) == ((0, 3), [])


def test_columns_of_tokens_are_sharded_with_the_tokens() -> None:
    plan = plan_with()
    samples = [{"input_ids": ids, "values": [[i] * 2 for i in ids]} for ids in IDS]
    batch = batch_of(samples, plan, columns={"values": "concatenate"})
    part = SequenceGroups(plan, world_size=1).shard(batch, None)
    assert part["values"][..., 0].tolist() == part["input_ids"].tolist()
    assert part.token_columns == batch.to("cpu").token_columns == ("values",)


@settings(max_examples=60, deadline=None)
@given(
    strategy=st.sampled_from([row.name for row in rows()]),
    over_long=st.sampled_from(["truncate", "split"]),
    padding=st.sampled_from(["none", "capacity"]),
    seed=st.integers(0, 10**6),
)
def test_nothing_of_random_columns_is_lost_or_out_of_place(
    strategy: str, over_long: str, padding: str, seed: int
) -> None:
    lengths = drawn_lengths(30, seed=seed % 1000, longest_tokens=100)
    row = next(row for row in rows() if row.name == strategy)
    plan = plan_of(row, lengths, 2, over_long=over_long, last_iteration="shorten", padding=padding)
    draw = np.random.default_rng(seed)
    is_cut = {
        sample
        for m in PlanSampler(plan, 0, 1)
        for sample, n in zip(m, m.tokens, strict=True)
        if n < lengths[sample]
    }
    n_rows = [0 if i in is_cut else int(draw.integers(0, 4)) for i in range(len(lengths))]
    samples = [
        {
            "input_ids": ids,
            "noise": draw.standard_normal((len(ids), 2)),
            "pixels": draw.standard_normal((n_rows[i], 3)).astype(np.float32),
            "number": i,
        }
        for i, ids in enumerate(token_ids(lengths))
    ]
    rules = {"noise": Column("concatenate", fill=9), "pixels": "concatenate_documents", "number": "stack"}
    collator, dataset = PackCollator(plan, columns=rules), PlanDataset(samples, plan)
    seen_rows = np.zeros(len(lengths), dtype=int)
    for micro_batch in PlanSampler(plan, 0, 1):
        batch = collator(dataset.__getitems__(micro_batch))
        assert batch["number"].tolist() == list(micro_batch)
        begin, n_tokens, first_row = 0, 0, 0
        for place, (sample, start, n, count) in enumerate(
            zip(
                micro_batch,
                micro_batch.starts_tokens,
                micro_batch.tokens,
                batch["pixels_counts"],
                strict=True,
            )
        ):
            at = (0, slice(begin, begin + n)) if row.layout == "packed" else (place, slice(0, n))
            assert (batch["noise"][at].numpy() == samples[sample]["noise"][start : start + n]).all()
            pixels = batch["pixels"][first_row : first_row + int(count)]
            assert (pixels.numpy() == samples[sample]["pixels"]).all()
            seen_rows[sample] += int(count)
            begin, n_tokens, first_row = begin + n, n_tokens + n, first_row + int(count)
        assert first_row == len(batch["pixels"])
        assert int((batch["noise"] == 9).all(-1).sum()) == batch.n_padding_tokens
        assert batch["noise"].shape == (*batch["input_ids"].shape, 2)
    assert seen_rows.tolist() == n_rows


def test_every_block_of_the_page_runs_and_gives_what_it_says() -> None:
    text = (REPOSITORY / "docs" / "columns.md").read_text()
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for block in blocks:
        exec(compile(block, "docs/columns.md", "exec"), names)
        for expression, value in re.findall(r"^(batch\S+) +# (.*)$", block, re.MULTILINE):
            assert eval(expression, names) == eval(value, {}), expression
    assert len(blocks) == 1
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(COLUMN_RULES)
