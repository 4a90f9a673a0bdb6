"""The timer of steps as a callback of the Trainer and of TRL: which steps and documents, what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
for package in ("transformers", "trl", "datasets"):
    pytest.importorskip(package)

import timed_runs  # noqa: E402
import trainer_runs  # noqa: E402
from cases import REPOSITORY  # noqa: E402
from doc_blocks import blocks  # noqa: E402
from process_pool import ProcessPool  # noqa: E402
from simulated import PROGRAM  # noqa: E402
from timed_runs import packs, rows, source, value  # noqa: E402
from transformers import Trainer, TrainerCallback, TrainingArguments  # noqa: E402

import packsim  # noqa: E402
from packsim.trainers import PackedSFTTrainer, PackedTrainer, StepTimerCallback  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:attention. sdpa works through whole rows"),
    pytest.mark.filterwarnings("ignore:`gradient_checkpointing.*` is deprecated"),
]

LENGTHS = [3, 9, 5, 7, 4, 11, 6, 8, 2, 10, 12, 5]
SAMPLES = [{"input_ids": [1 + i % 50] * n, "labels": [1 + i % 50] * n} for i, n in enumerate(LENGTHS)]


def arguments(of: type[Any], folder: Path, **more: Any) -> Any:
    named = {"optim": "adamw_torch", "learning_rate": 1e-3, "bf16": False, **more}
    return trainer_runs.trainer_arguments(of, os.fspath(folder / "out"), **named)


def padded(samples: list[dict[str, list[int]]]) -> dict[str, Any]:
    longest = max(len(sample["input_ids"]) for sample in samples)
    rows_of = {"input_ids": 0, "attention_mask": 0, "labels": -100}
    batch: dict[str, list[list[int]]] = {name: [] for name in rows_of}
    for sample in samples:
        n = len(sample["input_ids"])
        values = {**sample, "attention_mask": [1] * n}
        for name, filler in rows_of.items():
            batch[name].append(values[name] + [filler] * (longest - n))
    return {name: torch.tensor(values) for name, values in batch.items()}


class Slow(TrainerCallback):  # type: ignore[misc]
    """Takes its time where no step is timed."""

    def on_log(self, *_: Any, **__: Any) -> None:
        time.sleep(0.2)

    on_save = on_evaluate = on_log


def test_steps_of_the_trainer_end_before_it_logs_evaluates_and_saves(tmp_path: Path) -> None:
    callback = StepTimerCallback(tmp_path / "steps.jsonl", warmup_steps=1)
    args = arguments(
        TrainingArguments,
        tmp_path,
        max_steps=8,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        eval_strategy="steps",
        eval_steps=3,
        save_strategy="steps",
        save_steps=5,
        logging_steps=1,
        train_sampling_strategy="sequential",
    )
    trainer = Trainer(
        timed_runs.llama(),
        args,
        data_collator=padded,
        train_dataset=SAMPLES,
        eval_dataset=SAMPLES[:2],
        callbacks=[Slow(), callback],
    )
    trainer.train()
    found = rows(tmp_path / "steps.jsonl")
    # 1 is the warm-up; 4 and 7 come behind an evaluation, 6 behind a checkpoint.
    assert [row["details"]["step"] for row in found] == [2, 3, 5, 8]
    assert callback.timer.left_out == {"warm-up": 1, "after evaluation": 2, "after checkpoint": 1}
    # Two micro-batches of two rows each: samples 4 to 7 in the second step, 8 to 11 in the third.
    assert packs(tmp_path / "steps.jsonl")[:2] == ["2x11/2x8", "2x10/2x12"]
    assert found[0]["details"]["documents"] == "1x4+1x11/1x6+1x8"
    assert found[0]["details"]["padding_tokens"] == 7 + 2
    assert all(row["samples_s"][0] < 0.2 for row in found)
    assert not trainer.model._forward_pre_hooks
    assert (tmp_path / "llama.json").exists()


def test_fit_reads_the_rows_of_a_trainer_that_recomputes_and_casts(tmp_path: Path) -> None:
    args = arguments(
        TrainingArguments,
        tmp_path,
        max_steps=10,
        per_device_train_batch_size=2,
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        bf16=True,
    )
    callback = StepTimerCallback(tmp_path / "steps.jsonl", warmup_steps=2)
    model = timed_runs.llama(torch.float32)
    Trainer(model, args, data_collator=padded, train_dataset=SAMPLES, callbacks=[callback]).train()
    found = source(tmp_path / "steps.jsonl")
    assert found["details"]["products"] == "bfloat16"
    assert found["plan"]["loss_reads"] == 1
    assert found["plan"]["optimizer"] == "adamw_fp32" and found["plan"]["recompute_stops_early"] is True
    assert {value(row, "gc_layers") for row in rows(tmp_path / "steps.jsonl")} == {"2"}
    fit = [
        "calibrate",
        "fit",
        "steps.jsonl",
        "--name",
        "mine",
        "--on",
        "h100-measured",
        "--framework",
        "m.json",
    ]
    # The model's file is named as the rows are, which were given by their whole path.
    done = subprocess.run([PROGRAM, *fit], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    profile = json.loads((tmp_path / "m.json").read_text())
    assert profile["fitted_on"]["traits"] == ["checkpointing"] and profile["plan"]["loss"] == "upcast"


def test_documents_of_a_plan_are_those_of_its_micro_batches(tmp_path: Path) -> None:
    packing = packsim.pack(LENGTHS, strategy="bfd", capacity_tokens=16)
    plan = packsim.make_plan(packing, micro_batches_per_rank=2, last_iteration="shorten", epochs=3)
    args = arguments(TrainingArguments, tmp_path, max_steps=7)
    callback = StepTimerCallback(tmp_path / "steps.jsonl", warmup_steps=1)
    trainer = PackedTrainer(timed_runs.llama(), args, plan=plan, train_dataset=SAMPLES, callbacks=[callback])
    trainer.train()
    found = rows(tmp_path / "steps.jsonl")
    assert len(found) == 6
    for row in found:
        expected = [pack.tokens.tolist() for pack in plan.micro_batches(row["details"]["step"] - 1)]
        documents = row["details"].get("documents", value(row, "packs"))
        assert [
            [int(n) for run in pack.split("+") for n in [run.split("x")[1]] * int(run.split("x")[0])]
            for pack in documents.split("/")
        ] == expected
        # sdpa works through each pack as one row.
        assert value(row, "packs") == "/".join(f"1x{sum(pack)}" for pack in expected)


def test_trl_packs_without_padding(tmp_path: Path) -> None:
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    args = arguments(
        SFTConfig,
        tmp_path,
        max_steps=7,
        per_device_train_batch_size=3,
        packing=False,
        max_length=16,
        gradient_checkpointing=False,
    )
    callback = StepTimerCallback(tmp_path / "steps.jsonl", warmup_steps=1)
    trainer = SFTTrainer(
        timed_runs.llama(),
        args,
        train_dataset=Dataset.from_list(SAMPLES),
        processing_class=trainer_runs.tokenizer(),
        callbacks=[callback],
    )
    trainer.train()
    found = rows(tmp_path / "steps.jsonl")
    assert len(found) == 6
    # Rows of three samples, as long as the longest.
    assert {value(row, "packs").split("x")[0] for row in found} == {"3"}
    details = source(tmp_path / "steps.jsonl")["details"]
    assert {"trl", "transformers", "accelerate"} <= details.keys()
    # TRL computes the loss without the logits of all words.
    assert source(tmp_path / "steps.jsonl")["plan"]["loss"] == "fused"
    # It reads its metrics behind the forward pass too.
    assert source(tmp_path / "steps.jsonl")["plan"]["loss_reads"] == 2


def test_packed_trl_is_timed_whole(tmp_path: Path) -> None:
    from datasets import Dataset
    from trl import SFTConfig

    args = arguments(
        SFTConfig,
        tmp_path,
        max_steps=5,
        per_device_train_batch_size=2,
        max_length=16,
        gradient_checkpointing=False,
    )
    callback = StepTimerCallback(tmp_path / "steps.jsonl", warmup_steps=1)
    trainer = PackedSFTTrainer(
        timed_runs.llama(),
        args,
        train_dataset=Dataset.from_list(SAMPLES),
        processing_class=trainer_runs.tokenizer(),
        callbacks=[callback],
    )
    trainer.train()
    found = rows(tmp_path / "steps.jsonl")
    assert len(found) == 4
    # The check of isolation calls the model in the first step alone, and steps of a plan have two packs.
    assert all(len(value(row, "packs").split("/")) <= 2 for row in found)


def test_a_run_that_rows_cannot_say_ends_behind_its_first_step(tmp_path: Path) -> None:
    args = arguments(TrainingArguments, tmp_path, max_steps=3, per_device_train_batch_size=2, optim="sgd")
    callback = StepTimerCallback(tmp_path / "steps.jsonl", gc_layers=1)
    trainer = Trainer(
        timed_runs.llama(torch.float32),
        args,
        data_collator=padded,
        train_dataset=SAMPLES,
        callbacks=[callback],
    )
    with pytest.raises(ValueError) as caught:
        trainer.train()
    assert str(caught.value).splitlines() == [
        "model: expected matrix products in bfloat16, as those of rows of steps, got float32",
        "optimizer: expected one that plans have, or plan={'optimizer': ...} that says which is alike, got "
        "SGD of float32 weights",
    ]
    assert trainer.state.global_step == 1 and not (tmp_path / "steps.jsonl").exists()


def test_arguments_are_checked_where_they_are_given(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="plan.pp_degree: expected none, because rows of steps have no pipeline"
    ):
        StepTimerCallback(tmp_path / "steps.jsonl", plan={"pp_degree": 2})
    callback = StepTimerCallback(tmp_path / "steps.jsonl")
    with pytest.raises(RuntimeError, match="timer: expected train\\(\\) to have begun"):
        callback.timer  # noqa: B018
    args = arguments(TrainingArguments, tmp_path, max_steps=1)
    args._n_gpu = 2
    with pytest.raises(ValueError, match="args: expected one GPU for each process, got 2 in one"):
        callback.on_train_begin(args, None, None, model=timed_runs.llama(), optimizer=None)
    # An evaluation before training leaves nothing out.
    callback.on_evaluate(args, None, None)


def test_a_trainer_that_trains_again_goes_on_with_the_file(tmp_path: Path) -> None:
    callback = StepTimerCallback(tmp_path / "steps.jsonl", warmup_steps=1)
    args = arguments(TrainingArguments, tmp_path, max_steps=5, per_device_train_batch_size=2)
    trainer = Trainer(
        timed_runs.llama(), args, data_collator=padded, train_dataset=SAMPLES, callbacks=[callback]
    )
    trainer.train()
    trainer.train()
    assert len(rows(tmp_path / "steps.jsonl")) == 8


def in_trainer(folder: str) -> int:
    trainer_runs.as_torchrun_sets()
    args = arguments(TrainingArguments, Path(folder), max_steps=5, per_device_train_batch_size=2)
    callback = StepTimerCallback(f"{folder}/steps.jsonl", warmup_steps=1)
    trainer = Trainer(
        timed_runs.llama(), args, data_collator=padded, train_dataset=SAMPLES, callbacks=[callback]
    )
    trainer.train()
    return callback.timer.n_rows


def test_the_trainer_on_two_processes_is_data_parallel(two_processes: ProcessPool, tmp_path: Path) -> None:
    assert two_processes.run(in_trainer, os.fspath(tmp_path)) == [4, 4]
    found = rows(tmp_path / "steps.jsonl")
    assert {(value(row, "dp"), value(row, "zero")) for row in found} == {("2", "0")}
    assert all(len(row["details"]["times_s"]) == 2 for row in found)


def test_the_page_on_calibration_times_fits_and_validates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = (REPOSITORY / "calibration" / "README.md").read_text().split("\n## Your own training\n")[1]
    (tmp_path / "section.md").write_text(section.split("\n## ")[0])
    (_, in_trainer), (_, in_loop), (_, commands) = blocks(tmp_path / "section.md")
    monkeypatch.chdir(tmp_path)
    model = timed_runs.llama()
    names: dict[str, Any] = {
        "model": model,
        "args": arguments(TrainingArguments, tmp_path, max_steps=16, per_device_train_batch_size=2),
        "dataset": SAMPLES,
        "collator": padded,
        "optimizer": timed_runs.adamw(model),
        "steps": timed_runs.steps_of(12),
    }
    for code in (in_trainer, in_loop):
        exec(compile(code, "calibration/README.md", "exec"), names)
    monkeypatch.setenv("PATH", f"{PROGRAM.parent}:{os.environ['PATH']}")
    done = subprocess.run(["sh", "-e", "-c", commands], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "fitted to 11 measured steps" in done.stdout and "Wrote my-run.json" in done.stdout
    assert "with framework, held out 7 " in " ".join(done.stdout.split())
