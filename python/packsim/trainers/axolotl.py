"""A plugin of axolotl: its trainer on a plan. In its configuration:

plugins:
  - packsim.trainers.axolotl.PacksimPlugin
sample_packing: false
packsim_plan: train.plan      # or none: then one is made of the prepared data
"""

from __future__ import annotations

from typing import Any

from packsim._arguments import Problems
from packsim._plan import Plan
from packsim.trainers._framework import framework
from packsim.trainers._planned import planned
from packsim.trainers.transformers_trainer import PackedTrainerMixin

_base = framework("axolotl.integrations.base", "axolotl")
_pydantic = framework("pydantic", "pydantic")


class PacksimArgs(_pydantic.BaseModel):  # type: ignore[misc, name-defined, unused-ignore]
    """What the plugin adds to axolotl's configuration.

    Attributes
    ----------
    packsim_plan : str, optional
        A plan file of the prepared data, in their order. By default a plan is made of them: packs of
        `sequence_len` tokens by best-fit decreasing, of which each process has
        `micro_batch_size * gradient_accumulation_steps` in a step.
    packsim_check_isolation : bool
        Run `packsim.torch.check_isolation()` on the first batch.
    """

    packsim_plan: str | None = None
    packsim_check_isolation: bool = True


class PacksimPlugin(_base.BasePlugin):  # type: ignore[misc, name-defined, unused-ignore]
    """Has axolotl train with packsim's packs and exact loss."""

    def register(self, cfg: Any) -> None:
        """ValueError for keys that would pack twice."""
        with Problems() as problems:
            for key in ("sample_packing", "eval_sample_packing", "pretraining_dataset", "rl", "streaming"):
                if cfg.get(key):
                    problems.add(f"{key}: expected none beside packsim, got {cfg.get(key)!r:.60}")

    def get_input_args(self) -> str:
        return f"{__name__}.{PacksimArgs.__name__}"

    def get_trainer_cls(self, cfg: Any) -> type[Any]:
        """axolotl's own trainer, which trains packs."""
        axolotl_trainer = framework("axolotl.core.trainers.base", "axolotl").AxolotlTrainer
        path, check_isolation = cfg.get("packsim_plan"), cfg.get("packsim_check_isolation")

        class PackedAxolotlTrainer(PackedTrainerMixin, axolotl_trainer):  # type: ignore[misc, valid-type]
            def __init__(
                self, model: Any = None, args: Any = None, *, train_dataset: Any, **arguments: Any
            ) -> None:
                rounds = args.per_device_train_batch_size * args.gradient_accumulation_steps
                plan = (
                    planned(train_dataset, args, rounds, cfg.get("sequence_len"))
                    if path is None
                    else Plan.open(path)
                )
                super().__init__(
                    model,
                    args,
                    plan=plan,
                    train_dataset=train_dataset,
                    check_isolation=check_isolation is not False,
                    **arguments,
                )

        return PackedAxolotlTrainer
