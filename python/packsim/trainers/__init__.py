"""Plans in the training frameworks, a line each: docs/trainers.md shows them.

Nothing of a framework is imported before its name is asked for here, or its module is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from packsim.trainers.accelerate import (
        AcceleratedLoader,
        AcceleratedMixtureLoader,
        mixture_loader,
        packed_loader,
    )
    from packsim.trainers.axolotl import PacksimPlugin
    from packsim.trainers.deepspeed import EngineLoader, engine_loader
    from packsim.trainers.lightning import PackedModule, PlanDataModule
    from packsim.trainers.megatron import MegatronBatches
    from packsim.trainers.packed_rows import PackedRows, packed_dataset
    from packsim.trainers.transformers_trainer import PackedTrainer, PackedTrainerMixin
    from packsim.trainers.trl import PackedSFTTrainer
    from packsim.trainers.verl import micro_batch_indices, rearrange_micro_batches

_MODULE_OF = {
    "AcceleratedLoader": "accelerate",
    "AcceleratedMixtureLoader": "accelerate",
    "EngineLoader": "deepspeed",
    "MegatronBatches": "megatron",
    "PackedModule": "lightning",
    "PackedRows": "packed_rows",
    "PackedSFTTrainer": "trl",
    "PackedTrainer": "transformers_trainer",
    "PackedTrainerMixin": "transformers_trainer",
    "PacksimPlugin": "axolotl",
    "PlanDataModule": "lightning",
    "engine_loader": "deepspeed",
    "mixture_loader": "accelerate",
    "packed_dataset": "packed_rows",
    "packed_loader": "accelerate",
    "micro_batch_indices": "verl",
    "rearrange_micro_batches": "verl",
}

__all__ = [
    "AcceleratedLoader",
    "AcceleratedMixtureLoader",
    "EngineLoader",
    "MegatronBatches",
    "PackedModule",
    "PackedRows",
    "PackedSFTTrainer",
    "PackedTrainer",
    "PackedTrainerMixin",
    "PacksimPlugin",
    "PlanDataModule",
    "engine_loader",
    "micro_batch_indices",
    "mixture_loader",
    "packed_dataset",
    "packed_loader",
    "rearrange_micro_batches",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
