"""Tensors of micro-batches: documents, labels, weights, padding, and samples that are not the plan's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from cases import rows  # noqa: E402
from training_cases import drawn_lengths, plan_of, token_ids  # noqa: E402

import packsim  # noqa: E402
from packsim.torch import CollatorRules, PackCollator, PackedBatch, PlanDataset, PlanSampler  # noqa: E402

LENGTHS = [5, 3, 2]


def one_pack(lengths: list[int] = LENGTHS, strategy: str = "ffd", **more: Any) -> packsim.Plan:
    packing = packsim.pack(lengths, strategy=strategy, capacity_tokens=12)
    return packsim.make_plan(packing, **more)


def first_batch(plan: packsim.Plan, data: list[Any], **options: Any) -> PackedBatch:
    pack = PlanDataset(data, plan).__getitems__(plan.micro_batches(0)[0])
    return PackCollator(plan, **options)(pack)


IDS = [[11, 12, 13, 14, 15], [21, 22, 23], [31, 32]]


def test_documents_of_a_pack_are_one_row() -> None:
    batch = first_batch(one_pack(), IDS)
    assert batch["input_ids"].tolist() == [[11, 12, 13, 14, 15, 21, 22, 23, 31, 32]]
    # Nothing predicts the first token of a document.
    assert batch["labels"].tolist() == [[-100, 12, 13, 14, 15, -100, 22, 23, -100, 32]]
    assert batch["position_ids"].tolist() == [[0, 1, 2, 3, 4, 0, 1, 2, 0, 1]]
    assert batch["cu_seqlens"].tolist() == [0, 5, 8, 10]
    assert batch["max_seqlen"] == 5
    # 7 labels, each of which weighs a seventh.
    weight = np.float32(1 / 7)
    assert batch["loss_weights"].tolist() == [[0, *[weight] * 4, 0, *[weight] * 2, 0, weight]]
    assert "attention_mask" not in batch
    dtypes = {name: value.dtype for name, value in batch.items() if name != "max_seqlen"}
    ids = {"input_ids": torch.int64, "labels": torch.int64, "position_ids": torch.int64}
    assert dtypes == ids | {"loss_weights": torch.float32, "cu_seqlens": torch.int32}
    assert batch.n_padding_tokens == 0
    assert batch.micro_batch == one_pack().micro_batches(0)[0]


def test_weights_of_a_normaliser_by_samples_follow_the_sample() -> None:
    batch = first_batch(one_pack(normaliser="longalign"), IDS)
    # Three samples of 4, 2 and 1 labels.
    expected = [0, *[1 / 12] * 4, 0, *[1 / 6] * 2, 0, 1 / 3]
    assert batch["loss_weights"][0].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("policy", "options", "n_tokens"),
    [
        ({}, {}, 10),
        ({"padding": "longest"}, {}, 10),
        ({"padding": "capacity"}, {}, 12),
        ({"padding": "multiple", "pad_multiple_tokens": 16}, {}, 16),
        ({"n_gpus": 4, "sp_degree": 4}, {}, 12),
        ({"n_gpus": 4, "sp_degree": 4}, {"pad_to_multiple_of": 6}, 12),
        ({"n_gpus": 4, "sp_degree": 4}, {"pad_to_multiple_of": 10}, 20),
    ],
)
def test_padding_is_one_more_document_without_loss(
    policy: dict[str, Any], options: dict[str, Any], n_tokens: int
) -> None:
    batch = first_batch(one_pack(**policy), IDS, pad_token_id=9, **options)
    n_padding = n_tokens - 10
    assert batch.n_padding_tokens == n_padding
    assert batch["input_ids"].shape == (1, n_tokens)
    assert batch["cu_seqlens"].tolist() == [0, 5, 8, 10] + [n_tokens] * (n_padding > 0)
    assert batch["max_seqlen"] == max(5, n_padding)
    assert batch["input_ids"][0, 10:].tolist() == [9] * n_padding
    assert batch["labels"][0, 10:].tolist() == [-100] * n_padding
    assert batch["position_ids"][0, 10:].tolist() == [0] * n_padding
    assert batch["loss_weights"][0, 10:].tolist() == [0] * n_padding


@pytest.mark.parametrize("strategy", ["none", "sorted"])
def test_strategies_of_rows_have_a_row_for_each_sample(strategy: str) -> None:
    packing = packsim.pack(LENGTHS, strategy=strategy, capacity_tokens=12, batch_samples=3)
    plan = packsim.make_plan(packing, order="as_packed")
    batch = first_batch(plan, IDS, pad_to_multiple_of=2)
    order = plan.micro_batches(0)[0].samples.tolist()
    assert sorted(order) == [0, 1, 2]
    for row, sample in enumerate(order):
        n = LENGTHS[sample]
        assert batch["input_ids"][row].tolist() == IDS[sample] + [0] * (6 - n)
        assert batch["labels"][row].tolist() == [-100, *IDS[sample][1:]] + [-100] * (6 - n)
        assert batch["position_ids"][row].tolist() == list(range(n)) + [0] * (6 - n)
        assert batch["attention_mask"][row].tolist() == [1] * n + [0] * (6 - n)
        assert batch["loss_weights"][row].gt(0).tolist() == [0 < i < n for i in range(6)]
    assert batch.n_padding_tokens == 3 * 6 - 10
    assert "cu_seqlens" not in batch


@pytest.mark.parametrize("kind", ["list", "array", "tensor", "mapping"])
def test_samples_come_in_any_form(kind: str) -> None:
    forms: dict[str, Any] = {
        "list": lambda ids: ids,
        "array": lambda ids: np.array(ids, dtype=np.uint16),
        "tensor": lambda ids: torch.tensor(ids),
        "mapping": lambda ids: {"input_ids": ids, "attention_mask": [1] * len(ids)},
    }
    batch = first_batch(one_pack(), [forms[kind](ids) for ids in IDS])
    plain = first_batch(one_pack(), IDS)
    assert all(torch.equal(batch[name], plain[name]) for name in plain if name != "max_seqlen")


def test_labels_of_samples_are_taken_and_not_changed() -> None:
    labels = torch.tensor([-100, -100, 3, 4, 5])
    data: list[Any] = [{"input_ids": IDS[0], "labels": labels}, IDS[1], IDS[2]]
    plan = one_pack(loss_tokens=[3, 2, 1])
    batch = first_batch(plan, data)
    assert batch["labels"][0, :5].tolist() == [-100, -100, 3, 4, 5]
    assert batch["loss_weights"][0, :5].tolist() == pytest.approx([0, 0, 1 / 6, 1 / 6, 1 / 6])
    data[0]["labels"] = torch.tensor([1, 2, 3, 4, 5])
    assert first_batch(one_pack(), data)["labels"][0, 0] == -100
    assert data[0]["labels"][0] == 1


def test_other_data_than_the_plan_was_made_of_are_refused_by_sample() -> None:
    plan = one_pack()
    with pytest.raises(ValueError, match=r"sample 1: expected 3 tokens, as when the plan was made, got 4"):
        first_batch(plan, [IDS[0], [21, 22, 23, 24], IDS[2]])
    with pytest.raises(ValueError, match=r"sample 2: expected 2 tokens.*got 1"):
        first_batch(plan, [IDS[0], IDS[1], [31]])
    with pytest.raises(ValueError, match="dataset: expected 3 samples, of which the plan was made, got 2"):
        PlanDataset(IDS[:2], plan)
    with pytest.raises(ValueError, match="sample 0: expected 5 labels, one for each token, got 2"):
        first_batch(plan, [{"input_ids": IDS[0], "labels": [1, 2]}, *IDS[1:]])
    with pytest.raises(ValueError, match="sample 2: expected token ids, or a mapping with input_ids, got 7"):
        first_batch(plan, [*IDS[:2], 7])
    # All at once.
    with pytest.raises(ValueError, match="sample 0: .*\nsample 1: "):
        first_batch(plan, [[1], [2], IDS[2]])
    with pytest.raises(TypeError, match="pack: expected what a PlanDataset fetches, got list"):
        PackCollator(plan)(IDS)  # type: ignore[arg-type]


def test_other_loss_tokens_than_the_plan_weighs_are_refused() -> None:
    data: list[Any] = [{"input_ids": IDS[0], "labels": [-100, -100, 3, 4, 5]}, *IDS[1:]]
    with pytest.raises(ValueError, match="sample 0: expected 4 labels with loss, .* got 3"):
        first_batch(one_pack(), data)
    batch = first_batch(one_pack(), data, check_loss_tokens=False)
    assert int(batch["loss_weights"].count_nonzero()) == 6


@pytest.mark.parametrize("over_long", ["truncate", "split"])
@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_cut_samples_give_the_tokens_that_the_plan_says(row: packsim.Strategy, over_long: str) -> None:
    lengths = drawn_lengths(60, seed=2, longest_tokens=200)
    lengths[7] = 64
    data = token_ids(lengths)
    plan = plan_of(row, lengths, 2, over_long=over_long, last_iteration="shorten", sp_degree=2)
    collator = PackCollator(plan)
    dataset = PlanDataset(data, plan)
    trained = {sample: np.zeros(n, dtype=int) for sample, n in enumerate(lengths)}
    for micro_batch in PlanSampler(plan, 0, 1):
        batch = collator(dataset.__getitems__(micro_batch))
        found = [
            batch["input_ids"][0, begin:end].numpy() if row.layout == "packed" else batch["input_ids"][begin]
            for begin, end in spans(batch, row.layout, len(micro_batch))
        ]
        assert batch["labels"].ne(-100).sum() == micro_batch.loss_tokens.sum()
        for ids, sample, start, n in zip(
            found, micro_batch, micro_batch.starts_tokens, micro_batch.tokens, strict=True
        ):
            assert (np.asarray(ids[:n]) == data[sample][start : start + n]).all()
            trained[sample][start : start + n] += 1
    for sample, n_times in trained.items():
        kept = 64 if over_long == "truncate" else len(n_times)
        assert (n_times[:kept] == 1).all(), sample
        assert (n_times[kept:] == 0).all(), sample


def spans(batch: PackedBatch, layout: str, n_documents: int) -> list[tuple[int, int]]:
    if layout == "rows":
        return [(row, row) for row in range(n_documents)]
    ends = batch["cu_seqlens"].tolist()[: n_documents + 1]
    return list(zip(ends[:-1], ends[1:], strict=True))


def test_truncated_data_that_changed_below_the_limit_are_refused() -> None:
    packing = packsim.pack([20, 3], strategy="ffd", capacity_tokens=12, over_long="truncate")
    plan = packsim.make_plan(packing)
    rules = CollatorRules.of(plan)
    assert (rules.truncates_tokens, rules.cuts_samples) == (12, False)
    first, second = (list(m) for m in PlanSampler(plan, 0, 1))
    assert sorted([first, second]) == [[0], [1]]
    dataset = PlanDataset([[1] * 99, [1] * 4], plan)
    collated = []
    for micro_batch in PlanSampler(plan, 0, 1):
        try:
            collated.append(PackCollator(plan)(dataset.__getitems__(micro_batch))["input_ids"].shape[1])
        except ValueError as error:
            assert "sample 1: expected 3 tokens" in str(error)
    assert collated == [12]


@pytest.mark.parametrize("strategy", ["ffd", "none"])
def test_an_empty_micro_batch_is_padding_without_loss(strategy: str) -> None:
    packing = packsim.pack([4] * 3, strategy=strategy, capacity_tokens=4)
    plan = packsim.make_plan(packing, n_gpus=2, last_iteration="shorten", padding="capacity")
    empty = next(m for rank in range(2) for m in PlanSampler(plan, rank, 2) if len(m) == 0)
    dataset = PlanDataset([[1] * 4] * 3, plan)
    batch = PackCollator(plan)(dataset.__getitems__(empty))
    assert batch["input_ids"].tolist() == [[0]]
    assert batch["loss_weights"].tolist() == [[0.0]]
    assert batch["labels"].tolist() == [[-100]]
    assert batch.n_padding_tokens == 1
    if strategy == "ffd":
        assert batch["cu_seqlens"].tolist() == [0, 1]


def test_documents_without_tokens_are_left_out() -> None:
    packing = packsim.pack([3, 0, 2], strategy="ffd", capacity_tokens=8, empty="keep")
    plan = packsim.make_plan(packing)
    batches = [
        PackCollator(plan)(PlanDataset([[1] * 3, [], [1] * 2], plan).__getitems__(m))
        for m in PlanSampler(plan, 0, 1)
    ]
    for batch in batches:
        assert (batch["cu_seqlens"].diff() > 0).all()
    assert sum(int(batch["input_ids"].shape[1]) - batch.n_padding_tokens for batch in batches) == 5


def test_arguments_by_the_names_of_transformers() -> None:
    batch = first_batch(one_pack(), IDS, flash_attention_kwargs=True)
    assert batch["cu_seq_lens_q"] is batch["cu_seq_lens_k"] is batch["cu_seqlens"]
    assert batch["max_length_q"] == batch["max_length_k"] == 5


def test_a_batch_keeps_its_micro_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = first_batch(one_pack(padding="capacity"), IDS)
    batch.is_last = True
    from torch.utils.data._utils.pin_memory import pin_memory

    # There is no device to pin memory for.
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor, *_: tensor.clone())
    for other in (
        batch.to("cpu"),
        copy.copy(batch),
        copy.deepcopy(batch),
        pickle.loads(pickle.dumps(batch)),
        pin_memory(batch),
    ):
        assert isinstance(other, PackedBatch)
        assert other.micro_batch == batch.micro_batch
        assert (other.n_padding_tokens, other.is_last) == (2, True)
        assert torch.equal(other["input_ids"], batch["input_ids"])
    assert batch.to("meta")["labels"].device.type == "meta"
    # As trainers rebuild it.
    assert PackedBatch({"input_ids": batch["input_ids"]}).micro_batch is None


@pytest.mark.parametrize(
    "sample",
    [
        np.full(5, 1.7),
        np.full(5, np.nan),
        ["x"] * 5,
        np.ones((5, 1), dtype=np.int64),
        [[1], [2, 3], [], [4], [5]],
    ],
    ids=["floats", "nan", "texts", "matrix", "ragged"],
)
def test_what_are_no_token_ids_is_refused_by_sample(sample: Any) -> None:
    plan = one_pack([5])
    with pytest.raises(ValueError, match=r"sample 0: expected one row of integers as token ids, got shape"):
        first_batch(plan, [sample])
    labels = {"input_ids": [1] * 5, "labels": sample}
    with pytest.raises(ValueError, match=r"sample 0: expected one row of integers as labels, got shape"):
        first_batch(plan, [labels])


@pytest.mark.parametrize("pad_token_id", [None, 1.5, -1])
def test_a_pad_token_that_cannot_be_is_refused_at_once(pad_token_id: Any) -> None:
    with pytest.raises(ValueError, match="pad_token_id: expected integer in 0"):
        PackCollator(one_pack([5]), pad_token_id=pad_token_id)
