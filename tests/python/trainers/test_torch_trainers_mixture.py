"""A mixture in the Trainer and in accelerate: the steps of MixtureLoader, updated between them, resumed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import mixing_runs  # noqa: E402
import trainer_runs  # noqa: E402
from process_pool import ProcessPool  # noqa: E402
from transformers import TrainingArguments  # noqa: E402

from packsim.torch import weighted_loss  # noqa: E402
from packsim.trainers import PackedTrainer  # noqa: E402

N_STEPS = 13


def trained_by_hand() -> Any:
    model = trainer_runs.small_llama()
    optimizer = trainer_runs.gradient_descent(model)
    for step in mixing_runs.loader_of().steps():
        for batch in step:
            for begin, end in zip(batch["cu_seqlens"][:-1], batch["cu_seqlens"][1:], strict=True):
                # Each document on its own, with the weights of the step.
                part = {name: batch[name][:, begin:end] for name in ("input_ids", "labels", "loss_weights")}
                logits = model(input_ids=part["input_ids"], use_cache=False).logits
                weighted_loss(logits, part["labels"], part["loss_weights"]).backward()
        optimizer.step()
        optimizer.zero_grad()
    return trainer_runs.flat(model)


def trainer_of(folder: str, loader: Any, **more: Any) -> Any:
    named = {"max_steps": N_STEPS, **more}
    args = trainer_runs.trainer_arguments(TrainingArguments, folder, **named)
    return PackedTrainer(trainer_runs.small_llama(), args, mixture_loader=loader)


def in_trainer(folder: str) -> tuple[Any, Any]:
    """In a process of a group."""
    trainer_runs.as_torchrun_sets()
    loader = mixing_runs.loader_of(None, None)
    trainer = trainer_of(folder, loader)
    trainer.train()
    return trainer_runs.flat(trainer.model), loader.state_dict()


def in_accelerate(folder: str) -> tuple[Any, Any]:
    """In a process of a group."""
    from accelerate import Accelerator

    from packsim.trainers import mixture_loader

    del folder
    trainer_runs.as_torchrun_sets()
    accelerator = Accelerator(cpu=True)
    loader = mixing_runs.loader_of(make=partial(mixture_loader, accelerator))
    model = trainer_runs.small_llama()
    parallel, optimizer = accelerator.prepare(model, trainer_runs.gradient_descent(model))
    for step in loader.steps():
        for batch in step:
            with loader.accumulate(parallel):
                loader.backward(loader.loss(parallel, batch))
                optimizer.step()
                optimizer.zero_grad()
    return trainer_runs.flat(model), loader.state_dict()


@pytest.mark.parametrize(("run", "package"), [(in_trainer, "transformers"), (in_accelerate, "accelerate")])
def test_parameters_are_those_of_training_each_sample_on_its_own(
    run: Any, package: str, two_processes: ProcessPool, tmp_path: Path
) -> None:
    pytest.importorskip(package)
    (found, state), (other, _) = two_processes.run(run, str(tmp_path))
    assert (found == other).all()
    expected, begin = trained_by_hand(), trainer_runs.flat(trainer_runs.small_llama())
    assert float((found - expected).norm() / (expected - begin).norm()) < 1e-5
    assert [row["step"] for row in state["history"]] == [0, 4, 8, 12]


def test_training_goes_on_where_a_checkpoint_was_taken(tmp_path: Path) -> None:
    whole = trainer_of(str(tmp_path / "whole"), mixing_runs.loader_of())
    whole.train()
    # Saved before an update, and behind one.
    for saved_at in (4, 6):
        saving = {"save_strategy": "steps", "save_steps": saved_at}
        folder = str(tmp_path / f"parts{saved_at}")
        trainer_of(folder, mixing_runs.loader_of(), max_steps=saved_at, **saving).train()
        loader = mixing_runs.loader_of()
        resumed = trainer_of(folder, loader, **saving)
        resumed.train(resume_from_checkpoint=True)
        assert (trainer_runs.flat(resumed.model) == trainer_runs.flat(whole.model)).all()
        assert loader.state_dict() == whole._mixture_loader.state_dict()
        assert loader.step == N_STEPS and resumed.state.epoch == 1.0
    # Trained anew, it begins with the run.
    resumed.train()
    assert loader.step == N_STEPS


def test_arguments_that_do_not_fit_the_loader_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError) as caught:
        more = {"max_steps": N_STEPS + 1, "gradient_accumulation_steps": 3}
        args = trainer_runs.trainer_arguments(TrainingArguments, str(tmp_path), **more)
        PackedTrainer(
            trainer_runs.small_llama(),
            args,
            mixture_loader=mixing_runs.loader_of(1, 2),
            train_dataset=[],
            pack_collator=print,
        )
    assert str(caught.value).splitlines() == [
        "train_dataset: expected that of the mixture_loader, or None, got another",
        "pack_collator: expected None beside a mixture_loader, which has one, got a collator",
        "mixture_loader: expected one of rank 0 of 1, as the trainer has it, got one of rank 1 of 2",
        "args.max_steps: expected at most 13, the steps of the mixture_loader's run, got 14",
        "args.gradient_accumulation_steps: expected 1 or 4, because the mixture_loader says what a step has, "
        "got 3",
    ]
    with pytest.raises(ValueError, match="plan, mixture_loader: expected one of them, got none"):
        PackedTrainer(trainer_runs.small_llama(), args)


def test_sft_trainer_refuses_a_mixture_as_it_prepares_the_data_itself(tmp_path: Path) -> None:
    trl = pytest.importorskip("trl")
    from packsim.trainers import PackedSFTTrainer

    args = trainer_runs.trainer_arguments(trl.SFTConfig, str(tmp_path))
    with pytest.raises(ValueError, match="mixture_loader: expected None, as TRL prepares the data itself"):
        PackedSFTTrainer(
            trainer_runs.small_llama(),
            args,
            mixture_loader=mixing_runs.loader_of(),
            train_dataset=mixing_runs.DATA,
        )
