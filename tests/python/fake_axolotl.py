"""What packsim.trainers.axolotl uses of axolotl 0.17, where axolotl, which pins its packages, is not.

Modules and signatures are axolotl's: plugins are made without arguments and registered with the
configuration; the trainer class gets keywords, among them some that are not of the Trainer, and sets
`model_accepts_loss_kwargs` to False.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class BasePlugin:
    def register(self, cfg: Any) -> None: ...

    def get_input_args(self) -> str | None: ...

    def get_trainer_cls(self, cfg: Any) -> type[Any] | None: ...


def install() -> None:
    """Put the modules where imports look, unless axolotl is installed."""
    if "axolotl" in sys.modules or find_spec("axolotl") is not None:
        return
    from transformers import Trainer, TrainingArguments

    class AxolotlTrainer(Trainer):  # type: ignore[misc]
        def __init__(
            self,
            *_args: Any,
            bench_data_collator: Any = None,
            eval_data_collator: Any = None,
            dataset_tags: Any = None,
            **kwargs: Any,
        ) -> None:
            self.dataset_tags = dataset_tags
            super().__init__(*_args, **kwargs)
            self.model_accepts_loss_kwargs = False

    modules: dict[str, dict[str, Any]] = {
        "axolotl": {},
        "axolotl.integrations": {},
        "axolotl.integrations.base": {"BasePlugin": BasePlugin},
        "axolotl.core": {},
        "axolotl.core.trainers": {},
        "axolotl.core.trainers.base": {"AxolotlTrainer": AxolotlTrainer},
        "axolotl.core.training_args": {"AxolotlTrainingArguments": TrainingArguments},
    }
    for name, content in modules.items():
        module = ModuleType(name)
        module.__path__ = []
        vars(module).update(content)
        sys.modules[name] = module
