"""Small trainers in fp32 and the same training in a single process, for the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Tensor

FOLDER = Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
sys.path.insert(0, str(REPOSITORY))

from calibration.steps.documents import Documents
from calibration.steps.packs import make_part
from calibration.steps.training.architecture import Architecture, load_architecture
from calibration.steps.training.attention import IMPLEMENTATIONS
from calibration.steps.training.optimizer import AdamW, AdamWSettings
from calibration.steps.training.pointwise import Pointwise
from calibration.steps.training.trainer import Parallelism, Toolbox, Trainer

CPU = torch.device("cpu")
# An epsilon of the size of the gradients: AdamW divides their scale out otherwise, and a sum that should be
# a mean would not show.
SETTINGS = AdamWSettings(learning_rate=0.1, epsilon=1e-2, weight_decay=0.1)


class OneRank:
    """A rank without processes."""

    rank, size, has_nccl = 0, 1, False

    def barrier(self) -> None:
        pass


def toolbox(
    attention: str = "sdpa_documents", loss_form: str = "chunked", dtype: torch.dtype = torch.float32
) -> Toolbox:
    return Toolbox(
        device=CPU,
        dtype=dtype,
        attention_name=attention,
        attention=IMPLEMENTATIONS[attention],
        pointwise=Pointwise(False, CPU, dtype),
        adamw=AdamW(False, CPU, SETTINGS),
        loss_form=loss_form,
    )


def architecture(name: str) -> Architecture:
    return load_architecture(FOLDER / f"{name}.json")


def packs_of(text: str) -> list[Documents]:
    return [Documents.parse(pack) for pack in text.split("/")]


def full_weights(trainer: Trainer) -> dict[str, Tensor]:
    """Of every rank's shards together."""
    weights = {}
    for name, parameter in trainer.model.named_parameters():
        whole = parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter
        weights[name] = whole.detach().clone()
    return weights


def train_alone(
    name: str, layers: int, packs_text: str, dp: int, n_steps: int
) -> tuple[list[float], dict[str, Tensor]]:
    """The reference: one process, plain attention, fp32 logits, no checkpointing, the packs of all
    data-parallel ranks one after another. The loss of each step and the weights after the last."""
    model = architecture(name)
    trainer = Trainer(model, layers, Parallelism(1, 1, 0), toolbox("reference", "fp32"), OneRank())
    packs = packs_of(packs_text)
    parts = [
        make_part(documents, model.vocab_size, 1, 0, seed=1000 * dp_rank + index, device=CPU)
        for dp_rank in range(dp)
        for index, documents in enumerate(packs)
    ]
    losses = [trainer.step(packs * dp, parts)[1].item() for _ in range(n_steps)]
    return losses, full_weights(trainer)


def largest_difference(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    assert one.keys() == other.keys(), f"{one.keys()} against {other.keys()}"
    return max((one[name] - other[name]).abs().max().item() for name in one)
