"""Times the steps of the Trainer of transformers, and of what inherits from it, such as TRL's."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from packsim.calibrate import Said, StepTimer
from packsim.trainers._framework import framework

transformers = framework("transformers", "transformers")


def _loss_reads(args: Any) -> int:
    """How often in a micro-batch the Trainer of these arguments reads what the GPU has computed."""
    # TRL's SFTTrainer reads its metrics behind the forward pass as well.
    is_of_trl = any(kind.__name__ == "SFTConfig" for kind in type(args).__mro__)
    return 2 if is_of_trl else int(args.logging_nan_inf_filter)


class StepTimerCallback(transformers.TrainerCallback):  # type: ignore[misc, name-defined, unused-ignore]
    """One of a Trainer's `callbacks`: writes rows of its steps as `packsim.calibrate.StepTimer` does.

    A step is what the Trainer does from its first micro-batch to the end of the optimizer's step. Logging,
    evaluation and checkpoints come behind it; the step behind an evaluation or a checkpoint is left out.

    Parameters
    ----------
    path : path
        The measurement file, appended to.
    **fields
        Those of a `packsim.calibrate.Said`.

    Raises
    ------
    ValueError
        At once for arguments; when training begins, for several GPUs in one process; behind its first step,
        for what rows cannot say.
    """

    def __init__(self, path: str | os.PathLike[str], **fields: Any) -> None:
        self._path = path
        self._said = Said(**fields)
        self._timer: StepTimer | None = None

    @property
    def timer(self) -> StepTimer:
        """That of the training that runs, or ran last.

        Raises
        ------
        RuntimeError
            Before training.
        """
        if self._timer is None:
            expected = "expected train() to have begun"
            raise RuntimeError(f"timer: {expected}, got a callback of a trainer that has not")
        return self._timer

    def on_train_begin(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        del state, control
        if args.n_gpu > 1:
            raise ValueError(
                f"args: expected one GPU for each process, got {args.n_gpu} in one; start with torchrun"
            )
        if self._timer is not None:  # the Trainer begins again with smaller batches
            self._timer.close()
        said = replace(self._said, plan={"loss_reads": _loss_reads(args)} | dict(self._said.plan))
        self._timer = StepTimer(self._path, objects["model"], objects["optimizer"], said)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        del args, state, control
        self.timer.begin_step()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        del args, state, control
        self.timer.end_step()

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        del args, state, control
        if self._timer is not None:  # evaluate() may come before train()
            self._timer.leave_out("evaluation")

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        del args, state, control
        self.timer.leave_out("checkpoint")

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        del args, state, control
        self.timer.close()
