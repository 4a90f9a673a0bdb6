"""The steps of a mixture in a Trainer: what fits it."""

from __future__ import annotations

import math
from typing import Any

from packsim._arguments import Problems
from packsim.torch.mixing import MixtureLoader


def check_mixture(loader: MixtureLoader, plan: Any, train_dataset: Any, pack_collator: Any, args: Any) -> Any:
    """The dataset to train. ValueError for arguments that do not fit the loader."""
    problems = Problems()
    if plan is not None:
        problems.add("plan: expected None beside a mixture_loader, got a plan")
    if train_dataset is not None and train_dataset is not loader.dataset:
        problems.add("train_dataset: expected that of the mixture_loader, or None, got another")
    if pack_collator is not None:
        problems.add("pack_collator: expected None beside a mixture_loader, which has one, got a collator")
    if args is not None:
        _check_place(loader, args, problems)
        _check_length(loader, args, problems)
        _check_accumulation(loader, args, problems)
    problems.raise_if_any()
    return loader.dataset


def _check_place(loader: MixtureLoader, args: Any, problems: Problems) -> None:
    own, other = (loader.rank, loader.world_size), (args.process_index, args.world_size)
    if own != other:
        expected = f"expected one of rank {other[0]} of {other[1]}, as the trainer has it"
        problems.add(f"mixture_loader: {expected}, got one of rank {own[0]} of {own[1]}")


def _check_length(loader: MixtureLoader, args: Any, problems: Problems) -> None:
    """The run is one epoch."""
    n_steps = args.max_steps if args.max_steps > 0 else math.ceil(args.num_train_epochs) * loader.n_steps
    if n_steps > loader.n_steps:
        expected = f"at most {loader.n_steps}, the steps of the mixture_loader's run"
        problems.add(f"args.max_steps: expected {expected}, got {n_steps}")


def _check_accumulation(loader: MixtureLoader, args: Any, problems: Problems) -> None:
    n_micro_batches = loader.micro_batches_per_step
    if args.gradient_accumulation_steps not in (1, n_micro_batches):
        expected = f"1 or {n_micro_batches}, because the mixture_loader says what a step has"
        got = args.gradient_accumulation_steps
        problems.add(f"args.gradient_accumulation_steps: expected {expected}, got {got}")
