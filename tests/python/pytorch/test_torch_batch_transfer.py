"""A batch arrives in another process as it left, without a file descriptor for each of its tensors."""

from __future__ import annotations

import copy
import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import packsim  # noqa: E402
from packsim.torch import PackCollator, PackedBatch, PlanLoader  # noqa: E402
from packsim.torch.batch_transfer import MOST_BYTES_IN_PIPE  # noqa: E402

KINDS = (torch.int64, torch.int32, torch.float64, torch.float32, torch.bfloat16, torch.bool, torch.complex64)


def arrived(batch: PackedBatch) -> PackedBatch:
    made: PackedBatch = pickle.loads(ForkingPickler.dumps(batch))
    return made


def equal(found: Any, expected: Any) -> bool:
    if isinstance(expected, torch.Tensor):
        return found.dtype == expected.dtype and torch.equal(found, expected)
    return bool(found == expected)


@pytest.mark.parametrize("n_tokens", [1, 7, MOST_BYTES_IN_PIPE // 8 + 1])
def test_every_value_and_attribute_arrives(n_tokens: int) -> None:
    draws = torch.randint(0, 2, (1, n_tokens, 3), generator=torch.Generator().manual_seed(n_tokens))
    values: dict[str, Any] = {str(kind): draws.to(kind) for kind in KINDS}
    values |= {"strided": draws[..., ::2], "transposed": draws.mT, "conjugate": (draws * 1j).conj()}
    values |= {
        "none": None,
        "number": 3,
        "text": ["a"],
        "scalar": torch.tensor(5),
        "empty": torch.zeros(0, 4),
    }
    batch = PackedBatch(values, n_padding_tokens=2, is_last=True, token_columns=("x",))
    batch.more = "kept"  # type: ignore[attr-defined]
    found = arrived(batch)
    assert type(found) is PackedBatch
    assert list(found) == list(values)
    assert all(equal(found[name], value) for name, value in values.items())
    assert vars(found) == vars(batch)


def test_a_tensor_under_two_names_stays_one_and_each_can_be_written() -> None:
    ends = torch.arange(4, dtype=torch.int32)
    found = arrived(PackedBatch({"a": ends, "b": ends, "c": ends.clone()}))
    assert found["a"] is found["b"]
    found["a"] += 1
    assert found["b"].tolist() == [1, 2, 3, 4]
    assert found["c"].tolist() == [0, 1, 2, 3]
    assert ends.tolist() == [0, 1, 2, 3]


def test_tensors_that_are_more_than_their_bytes_arrive_as_torch_sends_them() -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    sparse = torch.eye(3).to_sparse()
    found = arrived(PackedBatch({"weight": weight, "sparse": sparse, "ids": torch.ones(2)}))
    assert isinstance(found["weight"], torch.nn.Parameter)
    assert found["weight"].requires_grad
    assert equal(found["sparse"].to_dense(), torch.eye(3))
    assert found["ids"].tolist() == [1, 1]


def test_no_values_are_a_batch_too() -> None:
    assert arrived(PackedBatch()) == {}


def test_a_copy_has_the_same_tensors_and_a_deep_one_its_own() -> None:
    batch = PackedBatch({"ids": torch.ones(2)}, is_last=True)
    shallow, deep = copy.copy(batch), copy.deepcopy(batch)
    assert shallow["ids"] is batch["ids"]
    assert shallow.is_last and deep.is_last
    deep["ids"] += 1
    assert batch["ids"].tolist() == [1, 1]
    shallow["more"] = 1
    assert "more" not in batch


@pytest.mark.parametrize(("n_tokens", "is_large"), [(64, False), (MOST_BYTES_IN_PIPE // 32, True)])
def test_workers_give_the_same_batches_with_one_descriptor_or_none(n_tokens: int, is_large: bool) -> None:
    # A token has 36 bytes: 8 of its id, label, position and score each, and 4 of its weight.
    data = [{"input_ids": np.arange(n_tokens) + sample, "scores": [sample] * n_tokens} for sample in range(6)]
    packing = packsim.pack([n_tokens] * len(data), strategy="bfd", capacity_tokens=n_tokens)
    plan = packsim.make_plan(packing, last_iteration="shorten")
    collator = PackCollator(plan, columns={"scores": "concatenate"}, flash_attention_kwargs=True)

    def batches(num_workers: int) -> list[PackedBatch]:
        return list(PlanLoader(plan, data, collator, rank=0, world_size=1, num_workers=num_workers))

    for found, expected in zip(batches(1), batches(0), strict=True):
        assert list(found) == list(expected)
        assert all(equal(found[name], value) for name, value in expected.items())
        assert found.micro_batch == expected.micro_batch
        assert found["cu_seq_lens_q"] is found["cu_seqlens"]
        tensors = [value for value in found.values() if isinstance(value, torch.Tensor)]
        # Shared memory is behind a descriptor; all tensors are in the same piece.
        assert {tensor.is_shared() for tensor in tensors} == {is_large}
        assert len({tensor.untyped_storage().data_ptr() for tensor in tensors}) == 1
