"""How many kernels packsim says a layer of eager Hugging Face code launches, and how many PyTorch does."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

from dispatched_launches import layer_kernels  # noqa: E402
from launch_cases import AUTOCAST, BF16, FAMILIES, LORA, WITH_EXPERTS, Training  # noqa: E402
from simulated_launches import layer_launches  # noqa: E402

TRAININGS = {"bf16": BF16, "autocast": AUTOCAST, "LoRA": LORA}


def test_the_kernels_of_a_layer_of_llama_add_up() -> None:
    forward, backward = layer_kernels("Llama", BF16)
    # 7 products, attention, SiLU and its product, 2 residual additions; 2 norms of 8; rope of queries and of
    # keys, 5 each.
    assert forward.total() == 7 + 1 + 2 + 2 + 2 * 8 + 2 * 5
    # Two products for each; 3 kernels of attention and 2 sums over query heads; 3 of the activation; 2 norms
    # of 16; rope of 9; 2 residual additions and 3 sums of what products of one input give back; and gradients
    # of queries and keys that are copied into the layout of the products.
    assert backward.total() == 2 * 7 + 3 + 2 + 3 + 2 * 16 + 2 * 9 + 2 + 3 + 2
    # All but the down projection and the addition behind it runs again.
    _, with_recomputed = layer_kernels("Llama", replace(BF16, checkpoints=True))
    assert with_recomputed.total() - backward.total() == forward.total() - 2


@pytest.mark.parametrize("checkpoints", [False, True], ids=["kept", "checkpointed"])
@pytest.mark.parametrize("training", TRAININGS.values(), ids=TRAININGS.keys())
@pytest.mark.parametrize("family", FAMILIES)
def test_packsim_launches_what_pytorch_does_within_5_percent(
    family: str, training: Training, checkpoints: bool
) -> None:
    if training.lora and family in WITH_EXPERTS:
        pytest.skip("peft has no adapters beside experts that are one tensor")
    training = replace(training, checkpoints=checkpoints)
    forward, backward = layer_kernels(family, training)
    assert layer_launches(family, training) == pytest.approx(forward.total() + backward.total(), rel=0.05)
