"""The arguments and the classes of a Trainer that a plan has a place for."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from packsim._arguments import Problems
from packsim._plan import Plan
from packsim.trainers._packed_loss import turns_of_iterations

# Those whose loss is the mean over labels, which the plan's weights make.
_KNOWN_LOSSES = {("transformers", "Trainer"), ("trl", "SFTTrainer"), ("axolotl", "AxolotlTrainer")}
_PACKAGES = {package for package, _ in _KNOWN_LOSSES}
# Arguments of a Trainer, what they must be, and why.
_EXPECTED = {
    "label_smoothing_factor": (0, "the loss is not smoothed"),
    "auto_find_batch_size": (False, "the plan says what a step has"),
    "neftune_noise_alpha": (None, "its noise depends on the length of a row, which packing changes"),
    "dataloader_drop_last": (False, "the plan says which packs are trained"),
}


def check_arguments(problems: Problems, plan: Plan | None, args: Any, arguments: dict[str, Any]) -> None:
    """Finds arguments of a Trainer that a packed loss has no place for."""
    if arguments.get("compute_loss_func") is not None:
        problems.add(
            "compute_loss_func: expected None, because the plan's weights make the loss, got a function"
        )
    if args is None:
        return
    for name, (expected, why) in _EXPECTED.items():
        if getattr(args, name) != expected:
            problems.add(f"args.{name}: expected {expected}, because {why}, got {getattr(args, name)}")
    found = _order_of_the_trainer(args)
    if found in ("group_by_length", "batch_rebalance"):
        problems.add(
            f'args.train_sampling_strategy: expected none, because the plan has an order, got "{found}"'
        )
    if plan is not None:
        _check_accumulation(problems, plan, args)


def check_bases(trainer: type, mixin: type) -> None:
    """ValueError for a Trainer behind the mixin whose own loss or order the mixin would replace."""
    behind = trainer.__mro__[trainer.__mro__.index(mixin) + 1 :]
    problems = Problems()
    found = _first_with("compute_loss", behind)
    if (_package(found), found.__name__) not in _KNOWN_LOSSES:
        problems.add(
            f"{found.__name__}.compute_loss: expected that of Trainer, SFTTrainer or AxolotlTrainer, because "
            "the plan's weights make the loss, got another; a class in front of the mixin may have one"
        )
    for name in ("get_train_dataloader", "_get_train_sampler"):
        found = _first_with(name, behind)
        if _package(found) not in _PACKAGES:
            expected = "expected that of Trainer, because the plan says what is trained when"
            problems.add(f"{found.__name__}.{name}: {expected}, got another")
    problems.raise_if_any()


def _first_with(name: str, classes: Sequence[type]) -> type:
    return next(one for one in classes if name in vars(one))


def _package(of: type) -> str:
    return of.__module__.partition(".")[0]


def _order_of_the_trainer(args: Any) -> str:
    """Versions of transformers before 5 have a flag for one of them."""
    if getattr(args, "group_by_length", False):
        return "group_by_length"
    return str(getattr(args, "train_sampling_strategy", "random"))


def args_of_whole_steps(args: Any) -> Any:
    """A copy for a Trainer whose batches are whole steps."""
    if args is None:
        return None
    args = copy.copy(args)
    args.gradient_accumulation_steps = 1
    args.ignore_data_skip = True  # the loader is where it was
    return args


def _check_accumulation(problems: Problems, plan: Plan, args: Any) -> None:
    n_steps = args.gradient_accumulation_steps
    if n_steps == 1:
        return
    n_turns = turns_of_iterations(plan, args.world_size)
    if n_steps != max(n_turns):  # a last iteration may be short
        problems.add(
            "args.gradient_accumulation_steps: expected 1, because the plan says how many micro-batches each "
            f"step has ({', '.join(map(str, sorted(n_turns)))} on {args.world_size} processes), got {n_steps}"
        )
