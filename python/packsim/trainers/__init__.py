"""Plans in the training frameworks, a line each: docs/trainers.md shows them.

Nothing of a framework is imported before its name is asked for here, or its module is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from packsim.trainers.accelerate import AcceleratedLoader as AcceleratedLoader
    from packsim.trainers.accelerate import AcceleratedMixtureLoader as AcceleratedMixtureLoader
    from packsim.trainers.accelerate import mixture_loader as mixture_loader
    from packsim.trainers.accelerate import packed_loader as packed_loader
    from packsim.trainers.axolotl import PacksimPlugin as PacksimPlugin
    from packsim.trainers.deepspeed import EngineLoader as EngineLoader
    from packsim.trainers.deepspeed import engine_loader as engine_loader
    from packsim.trainers.lightning import PackedModule as PackedModule
    from packsim.trainers.lightning import PlanDataModule as PlanDataModule
    from packsim.trainers.megatron import MegatronBatches as MegatronBatches
    from packsim.trainers.packed_rows import PackedRows as PackedRows
    from packsim.trainers.packed_rows import packed_dataset as packed_dataset
    from packsim.trainers.step_timer import StepTimerCallback as StepTimerCallback
    from packsim.trainers.transformers_trainer import PackedTrainer as PackedTrainer
    from packsim.trainers.transformers_trainer import PackedTrainerMixin as PackedTrainerMixin
    from packsim.trainers.trl import PackedSFTTrainer as PackedSFTTrainer
    from packsim.trainers.verl import micro_batch_indices as micro_batch_indices
    from packsim.trainers.verl import rearrange_micro_batches as rearrange_micro_batches

_NAMES_OF = {
    "accelerate": ["AcceleratedLoader", "AcceleratedMixtureLoader", "mixture_loader", "packed_loader"],
    "axolotl": ["PacksimPlugin"],
    "deepspeed": ["EngineLoader", "engine_loader"],
    "lightning": ["PackedModule", "PlanDataModule"],
    "megatron": ["MegatronBatches"],
    "packed_rows": ["PackedRows", "packed_dataset"],
    "step_timer": ["StepTimerCallback"],
    "transformers_trainer": ["PackedTrainer", "PackedTrainerMixin"],
    "trl": ["PackedSFTTrainer"],
    "verl": ["micro_batch_indices", "rearrange_micro_batches"],
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
