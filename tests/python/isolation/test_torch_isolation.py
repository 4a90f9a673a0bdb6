"""check_isolation() and attention_inputs(): what they pass, what they refuse, what they leave as it was."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from cells import SIZES, WINDOW, documents, packed  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from packsim.torch import IsolationError, attention_inputs, check_isolation  # noqa: E402
from packsim.torch.attention_masks import additive_document_mask, document_mask  # noqa: E402
from packsim.torch.attention_routes import attention_routes  # noqa: E402


def model(**more: Any) -> Any:
    torch.manual_seed(0)
    config = transformers.MistralConfig(**SIZES, **(WINDOW | more))
    return transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")


class Averaging(nn.Module):
    """Each token sees the mean of the tokens before it: of its document, or of the whole row."""

    def __init__(self, keeps_apart: bool) -> None:
        super().__init__()
        self.keeps_apart = keeps_apart
        self.words = nn.Embedding(64, 8)
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(8, 64)

    def forward(self, input_ids: Tensor, position_ids: Tensor, cu_seqlens: Tensor) -> Tensor:
        mask = document_mask(cu_seqlens)[0].float()
        if not self.keeps_apart:
            mask = torch.ones_like(mask).tril()
        seen = mask @ self.dropout(self.words(input_ids)) / mask.sum(-1, keepdim=True)
        return self.head(seen)


def test_a_mask_lets_tokens_see_their_own_document_up_to_themselves() -> None:
    # Documents of 2, 1 and 3 tokens.
    cu_seqlens = torch.tensor([0, 2, 3, 6], dtype=torch.int32)
    expected = [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0],
        [0, 0, 0, 1, 0, 0],
        [0, 0, 0, 1, 1, 0],
        [0, 0, 0, 1, 1, 1],
    ]
    assert document_mask(cu_seqlens)[0, 0].int().tolist() == expected
    expected[5][3] = 0  # a window of two tokens
    assert document_mask(cu_seqlens, 2)[0, 0].int().tolist() == expected
    added = additive_document_mask(cu_seqlens, torch.bfloat16)
    assert added.dtype == torch.bfloat16
    assert added[0, 0, 1].tolist() == [0, 0] + [torch.finfo(torch.bfloat16).min] * 4


def test_a_mask_that_would_fill_the_memory_is_refused_before_it_is_made() -> None:
    with pytest.raises(ValueError, match="expected at most 8 GiB, got 32 GiB for a row of 131072 tokens"):
        additive_document_mask(torch.tensor([0, 2**17]), torch.bfloat16)


def test_a_model_that_keeps_documents_apart_passes_and_stays_as_it_was() -> None:
    for one in (model(), Averaging(keeps_apart=True)):
        one.train()
        random = torch.get_rng_state()
        check_isolation(one, gradients=True)
        assert torch.equal(torch.get_rng_state(), random)
        assert all(part.training for part in one.modules())
        assert all(parameter.grad is None for parameter in one.parameters())


def test_a_model_that_mixes_documents_is_refused_with_who_saw_whom() -> None:
    mixing = Averaging(keeps_apart=False)
    with pytest.raises(
        IsolationError, match=r"(?s)Averaging: expected a way .* cu_seqlens: document 1 of a packed row"
    ):
        check_isolation(mixing)
    with pytest.raises(
        IsolationError, match="document 1 of a packed row: expected logits that do not depend on document 0"
    ):
        check_isolation(mixing, forward=lambda one, batch: one(batch["input_ids"], None, batch["cu_seqlens"]))


def test_a_call_that_keeps_the_cache_on_is_refused() -> None:
    one = model()

    def forward(one: Any, batch: Any) -> Any:
        return one(input_ids=batch["input_ids"], position_ids=batch["position_ids"])

    with pytest.raises(IsolationError, match="it sees other documents. See docs/isolation.md"):
        check_isolation(one, forward=forward)


def test_a_lost_window_is_refused() -> None:
    one = model()

    def without_window(one: Any, batch: Any) -> Any:
        mask = additive_document_mask(batch["cu_seqlens"], torch.float32)
        return one(input_ids=batch["input_ids"], position_ids=batch["position_ids"], attention_mask=mask)

    with pytest.raises(IsolationError, match="a sliding window that is not there"):
        check_isolation(one, forward=without_window)


def test_gradients_are_compared_where_logits_are_right() -> None:
    def half_the_gradient_of_packs(one: Any, batch: Any) -> Any:
        logits = one(**attention_inputs(batch, one))
        is_pack = len(batch["cu_seqlens"]) > 2
        return (logits + logits.detach()) / 2 if is_pack else logits

    one = Averaging(keeps_apart=True)
    check_isolation(one, forward=half_the_gradient_of_packs)
    with pytest.raises(IsolationError, match="its documents alone, got a difference of 50.0%"):
        check_isolation(one, forward=half_the_gradient_of_packs, gradients=True)


def test_wrappers_and_models_of_others_may_have_a_config_of_their_own() -> None:
    engine = nn.Module()
    engine.config = {"train_batch_size": 1}
    engine.module = model()
    engine.forward = engine.module.forward
    check_isolation(engine)
    own = Averaging(keeps_apart=True)
    own.config = {"n_layers": 1}
    assert attention_inputs(packed(documents()), own).keys() == {"input_ids", "position_ids", "cu_seqlens"}


def test_a_plain_mask_beside_a_packed_row_is_refused() -> None:
    batch = packed(documents())
    batch["attention_mask"] = torch.ones_like(batch["input_ids"])
    for refuse in (lambda: attention_inputs(batch, model()), lambda: check_isolation(model(), batch)):
        with pytest.raises(
            IsolationError, match=r"attention_mask: expected none .* got one of shape \(1, 34\)"
        ):
            refuse()


def test_a_mask_of_pairs_that_lets_documents_see_each_other_is_refused() -> None:
    batch = packed(documents())
    batch["attention_mask"] = torch.full((34, 34), float("-inf")).triu(1)[None, None]
    with pytest.raises(IsolationError, match="got one in which token 9 sees token 0"):
        check_isolation(model(), batch)
    batch["attention_mask"] = document_mask(batch["cu_seqlens"])
    check_isolation(model(), batch)


def test_models_that_compute_in_16_bits_are_not_refused_for_rounding() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        check_isolation(model())
    check_isolation(model().to(torch.bfloat16))
    wrapper = nn.Module()
    wrapper.module = inner = model()
    wrapper.forward = torch.autocast("cpu", torch.bfloat16)(inner.forward)
    check_isolation(wrapper)
    mixing = Averaging(keeps_apart=False).to(torch.bfloat16)
    with pytest.raises(IsolationError):
        check_isolation(mixing)


def test_positions_that_do_not_begin_again_are_refused() -> None:
    batch = packed(documents())
    batch["position_ids"] = torch.arange(34)[None]
    with pytest.raises(
        IsolationError, match="position_ids: expected 0 at token 9, where a document begins, got 9"
    ):
        check_isolation(model(), batch)


def test_rows_and_a_mask_of_the_batch_are_passed_on() -> None:
    rows = {
        name: torch.ones(2, 3, dtype=torch.long) for name in ("input_ids", "position_ids", "attention_mask")
    }
    assert attention_inputs(rows, model()).keys() == {*rows, "use_cache"}
    batch = packed(documents())
    batch["attention_mask"] = additive_document_mask(
        batch["cu_seqlens"], torch.float32, WINDOW["sliding_window"]
    )
    assert attention_inputs(batch, model())["attention_mask"] is batch["attention_mask"]


def test_flash_attention_is_told_where_documents_begin() -> None:
    one = model()
    one.config._attn_implementation = "flash_attention_2"
    route = next(attention_routes(one))
    batch = packed(documents())
    assert route.inputs(batch) == {
        "cu_seq_lens_q": batch["cu_seqlens"],
        "cu_seq_lens_k": batch["cu_seqlens"],
        "max_length_q": 12,
        "max_length_k": 12,
    }


def test_a_model_is_asked_again_when_its_attention_changes() -> None:
    one = model()
    batch = packed(documents())
    attention_inputs(batch, one)
    forwards: list[int] = []
    one.register_forward_hook(lambda *_: forwards.append(1))
    attention_inputs(batch, one)
    assert not forwards
    one.set_attn_implementation("eager")
    attention_inputs(batch, one)
    assert forwards


def test_a_model_whose_vocabulary_nobody_knows_needs_a_batch() -> None:
    linear = nn.Linear(1, 4)

    def forward(one: Any, batch: Any) -> Any:
        return one(batch["input_ids"][..., None].float())

    with pytest.raises(
        ValueError, match="expected config.vocab_size, an nn.Embedding, or a batch beside it, got none"
    ):
        check_isolation(linear, forward=forward)
    check_isolation(linear, packed(documents()), forward=forward)


def test_gradients_of_sharded_parameters_are_not_compared() -> None:
    one = Averaging(keeps_apart=True)
    one.head.weight.placements = ()
    with pytest.raises(
        ValueError, match="expected a model whose processes have all parameters, got a sharded one"
    ):
        check_isolation(one, gradients=True)
