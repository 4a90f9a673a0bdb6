"""A timer of optimizer steps in a plain loop: what rows say, and that `packsim calibrate` reads them."""

from __future__ import annotations

import copy
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import timed_runs  # noqa: E402
from process_pool import ProcessPool  # noqa: E402
from run_command import run  # noqa: E402
from simulated import PROGRAM, small_job  # noqa: E402
from timed_runs import adamw, lines, llama, packed, packs, padded, rows, source, train_step, value  # noqa: E402

from packsim.calibrate import Said, StepTimer  # noqa: E402
from packsim.calibrate.said import _PLAN_KEYS  # noqa: E402
from packsim.torch import CheckpointedLayers  # noqa: E402

H100 = "NVIDIA H100 80GB HBM3"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


pytestmark = [
    pytest.mark.filterwarnings("ignore:attention. sdpa works through whole rows"),
    pytest.mark.filterwarnings("ignore:`gradient_checkpointing_.*` is deprecated"),
]


def calibrate(folder: Path, *words: str) -> tuple[str, str]:
    """(output, errors) of a command that succeeds."""
    done = subprocess.run([PROGRAM, "calibrate", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def as_if_on(gpu: str, path: Path) -> None:
    first, *others = path.read_text().splitlines(keepends=True)
    said = json.loads(first)
    said["source"]["gpu"] = gpu
    path.write_text(json.dumps(said) + "\n" + "".join(others))


def test_a_row_has_the_time_and_the_documents_of_its_step(tmp_path: Path) -> None:
    model = llama()
    optimizer = adamw(model)
    with StepTimer("steps.jsonl", model, optimizer, warmup_steps=1) as timer:
        for _ in range(5):
            time.sleep(0.1)  # such as reading data
            with timer.step():
                time.sleep(0.02)
                train_step(model, optimizer, [packed(4, 5), padded(7, 3)])
    found = rows(tmp_path / "steps.jsonl")
    assert timer.n_rows == len(found) == 4 and timer.left_out == {"warm-up": 1}
    # Attention of sdpa works through whole rows: of 9 tokens, and two of 7.
    case = "step model=./llama.json layers=2 gc_layers=0 sp=1 dp=1 zero=0 packs=1x9/2x7"
    assert {row["case"] for row in found} == {case}
    assert all(0.02 < row["samples_s"][0] < 0.1 for row in found)
    first = found[0]["details"]
    assert first["documents"] == "1x4+1x5/1x7+1x3"
    assert (first["step"], first["tokens"], first["padding_tokens"]) == (2, 23, 4)
    assert 0.02 < first["host_s"] <= found[0]["samples_s"][0]
    assert "peak_memory_bytes" not in found[0]  # of a CPU
    assert lines(tmp_path / "steps.jsonl")[-1] == {"end": "complete"}


def test_the_source_says_how_the_run_goes(tmp_path: Path) -> None:
    timed_runs.timed_loop("steps.jsonl", 6, warmup_steps=1)
    found = source(tmp_path / "steps.jsonl")
    assert found["gpu"].startswith("CPU ")
    assert found["plan"] == {
        "overlaps_states": True,
        "plain_gradients": True,
        "fp32_gradients": False,
        "bucket_elements": (25 << 20) // 2,  # of bf16 gradients, in DistributedDataParallel's 25 MiB
        "kernels": "eager",
        "loss": "upcast",
        "recompute_stops_early": True,
        "optimizer": "adamw_bf16",
    }
    details = found["details"]
    assert {"torch", "transformers", "packsim", "python", "host", "started"} <= details.keys()
    assert details["attention"] == "sdpa" and details["products"] == "bfloat16"
    assert details["optimizer"] == "AdamW of bfloat16 weights" and details["processes"] == 1
    config = json.loads((tmp_path / "llama.json").read_text())
    assert config["model_type"] == "llama" and config["num_hidden_layers"] == 2


def test_steps_that_do_more_than_train_are_left_out(tmp_path: Path) -> None:
    model = llama()
    optimizer = adamw(model)
    other = copy.deepcopy(model)
    with StepTimer("steps.jsonl", model, optimizer, warmup_steps=2) as timer:
        for step in range(1, 11):
            with timer.step():
                train_step(model, optimizer, [packed(step + 3)])
                if step == 4:
                    timer.leave_out("logging")
                with torch.no_grad():
                    other(**packed(5))  # a model of another name is not timed apart
                    if step == 8:
                        model(**packed(5))
            if step == 6:
                timer.leave_out("evaluation")
    # 1 and 2 are the warm-up, 4 logs, 5 comes behind it, 7 behind an evaluation.
    assert [row["details"]["step"] for row in rows(tmp_path / "steps.jsonl")] == [3, 6, 9, 10]
    assert timer.left_out == {
        "warm-up": 2,
        "logging": 1,
        "after logging": 1,
        "after evaluation": 1,
        "had forward passes without gradients": 1,
    }


def test_a_step_that_raises_is_no_row_and_the_next_one_is(tmp_path: Path) -> None:
    model = llama()
    optimizer = adamw(model)
    with StepTimer("steps.jsonl", model, optimizer, warmup_steps=1) as timer:
        for step in range(6):
            try:
                with timer.step():
                    train_step(model, optimizer, [packed(step + 3)])
                    if step == 3:
                        raise KeyError("data")
            except KeyError:
                continue
    assert packs(tmp_path / "steps.jsonl") == ["1x4", "1x5", "1x7", "1x8"]


def test_a_timer_stops_when_it_has_rows_enough(tmp_path: Path) -> None:
    model = llama()
    optimizer = adamw(model)
    timer = StepTimer("steps.jsonl", model, optimizer, warmup_steps=1, most_rows=5)
    for _ in range(9):
        with timer.step():
            train_step(model, optimizer, [packed(4)])
    assert len(rows(tmp_path / "steps.jsonl")) == timer.n_rows == 5
    assert not model._forward_pre_hooks and not model._forward_hooks
    timer.close()
    assert [line for line in lines(tmp_path / "steps.jsonl") if "end" in line] == [{"end": "complete"}]


def test_too_few_rows_for_a_fit_are_said_at_the_end() -> None:
    expected = (
        r"expected 4 rows or more for `packsim calibrate fit`, got 1 of 3 steps \(left out: 2 warm-up\)"
    )
    with pytest.warns(UserWarning, match=expected):
        timed_runs.timed_loop("steps.jsonl", 3, warmup_steps=2)


def test_fit_and_validate_read_the_rows_of_a_cpu_and_say_that_it_is_one(tmp_path: Path) -> None:
    timed_runs.timed_loop("fit.jsonl", 16, warmup_steps=1)
    timed_runs.timed_loop("held.jsonl", 26, warmup_steps=16)
    fit = ("fit.jsonl", "--name", "mine", "--on", "h100-measured", "--framework", "mine.json")
    output, errors = calibrate(tmp_path, "fit", *fit)
    assert "fitted to 15 measured steps" in output and "Wrote mine.json" in output
    assert "warning: steps were measured on CPU " in errors
    assert "the hardware profile h100-measured is of NVIDIA H100 80GB HBM3" in errors
    profile = json.loads((tmp_path / "mine.json").read_text())
    assert profile["plan"]["kernels"] == "eager" and profile["plan"]["optimizer"] == "adamw_bf16"
    output, errors = calibrate(tmp_path, "validate", "h100-measured", "held.jsonl", "--fit", "fit.jsonl")
    assert "with framework, fitted 15 " in " ".join(output.split())
    assert "with framework, held out 10 " in " ".join(output.split())
    assert "warning: steps were measured on CPU " in errors


def test_a_scenario_uses_the_profile_of_a_run_on_its_gpu(tmp_path: Path) -> None:
    timed_runs.timed_loop("steps.jsonl", 12, warmup_steps=1)
    as_if_on(H100, tmp_path / "steps.jsonl")
    fit = ("steps.jsonl", "--name", "mine", "--on", "h100-measured", "--framework", "mine.json")
    _, errors = calibrate(tmp_path, "fit", *fit)
    assert errors == ""
    job = small_job(profile="./mine.json", lengths={"mix": [{"source": "lengths.jsonl"}]})
    (tmp_path / "lengths.jsonl").write_text('{"length": 4000}\n' * 200)
    (tmp_path / "job.json").write_text(json.dumps(job))
    checked = run(PROGRAM, "check", "job.json", folder=tmp_path)
    assert "mine" in checked


def test_every_key_of_a_plan_that_can_be_said_is_one_that_fit_reads(tmp_path: Path) -> None:
    timed_runs.timed_loop("steps.jsonl", 8, warmup_steps=1)
    first, *others = (tmp_path / "steps.jsonl").read_text().splitlines(keepends=True)
    said = json.loads(first)
    said["source"]["plan"] = {key: "no such value" for key in _PLAN_KEYS}
    (tmp_path / "steps.jsonl").write_text(json.dumps(said) + "\n" + "".join(others))
    fit = ["calibrate", "fit", "steps.jsonl", "--name", "m", "--on", "h100-measured", "--framework", "m.json"]
    done = subprocess.run([PROGRAM, *fit], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no such key" not in done.stderr
    for key in _PLAN_KEYS:
        assert f"/source/plan/{key}: expected" in done.stderr, key


def test_a_killed_run_keeps_its_rows_and_another_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    script = Path(timed_runs.__file__)
    done = subprocess.run([sys.executable, "-W", "ignore", script, path, "5"], cwd=script.parent)
    assert done.returncode == -signal.SIGKILL
    assert len(rows(path)) == 5 and "end" not in lines(path)[-1]
    # A kill in the middle of a line leaves a part of it.
    with path.open("a") as file:
        file.write('{"case": "step mod')
    with pytest.warns(
        UserWarning, match="steps.jsonl: the incomplete last line of an earlier run is cut off"
    ):
        timed_runs.timed_loop(os.fspath(path), 6, warmup_steps=1)
    assert len(rows(path)) == 10
    ids = [line["source"]["id"] for line in lines(path) if "packsim_measurements" in line]
    assert len(set(ids)) == 2 and {row["source"] for row in rows(path)} == set(ids)
    fit = ("steps.jsonl", "--name", "mine", "--on", "h100-measured", "--framework", "mine.json")
    assert "fitted to 10 measured steps" in calibrate(tmp_path, "fit", *fit)[0]


def test_layers_that_are_recomputed_are_counted(tmp_path: Path) -> None:
    model = llama()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    optimizer = adamw(model)
    with StepTimer("steps.jsonl", model, optimizer, warmup_steps=1) as timer:
        for step in range(6):
            if step == 4:
                model.gradient_checkpointing_disable()
            with timer.step():
                train_step(model, optimizer, [packed(step + 3)])
    assert [value(row, "gc_layers") for row in rows(tmp_path / "steps.jsonl")] == ["2", "2", "2", "0", "0"]
    assert source(tmp_path / "steps.jsonl")["plan"]["recompute_stops_early"] is False


def test_layers_that_packsim_recomputes_are_counted(tmp_path: Path) -> None:
    model = llama()
    layers = CheckpointedLayers(model.model.layers)
    optimizer = adamw(model)
    with StepTimer("steps.jsonl", model, optimizer, warmup_steps=1) as timer:
        for numbers in ([0], [0, 0], [1, 1], [2], [1, 2], [0]):
            with timer.step():
                for n in numbers:
                    layers.set(n)
                    model(**packed(6), use_cache=False).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
    assert [value(row, "gc_layers") for row in rows(tmp_path / "steps.jsonl")] == ["0", "1", "2", "0"]
    assert timer.left_out["recomputed several numbers of layers"] == 1


def test_wrapped_layers_are_counted(tmp_path: Path) -> None:
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

    model = llama()
    model.model.layers[0] = checkpoint_wrapper(model.model.layers[0])
    optimizer = adamw(model)
    with StepTimer("steps.jsonl", model, optimizer, warmup_steps=1) as timer:
        for _ in range(5):
            with timer.step():
                train_step(model, optimizer, [packed(5)])
    assert value(rows(tmp_path / "steps.jsonl")[0], "gc_layers") == "1"


def test_products_under_autocast_are_those_of_their_format(tmp_path: Path) -> None:
    model = llama(torch.float32)
    optimizer = adamw(model)
    with StepTimer("steps.jsonl", model, optimizer, warmup_steps=1) as timer:
        for _ in range(5):
            with timer.step(), torch.autocast("cpu", torch.bfloat16):
                train_step(model, optimizer, [packed(5)])
    found = source(tmp_path / "steps.jsonl")
    assert found["details"]["products"] == "bfloat16" and found["plan"]["optimizer"] == "adamw_fp32"
    assert found["plan"]["bucket_elements"] == (25 << 20) // 4


def test_steps_that_compile_are_left_out(tmp_path: Path) -> None:
    torch._dynamo.reset()
    model = llama()
    compiled = torch.compile(model, backend="eager", dynamic=False)
    optimizer = adamw(model)
    with StepTimer("steps.jsonl", compiled, optimizer, warmup_steps=2) as timer:
        for length in (5, 5, 5, 5, 6, 5, 6):
            with timer.step():
                train_step(compiled, optimizer, [packed(length)])
    # The fifth step compiles for another length.
    assert timer.left_out == {"warm-up": 2, "compiled": 1}
    assert packs(tmp_path / "steps.jsonl") == ["1x5", "1x5", "1x5", "1x6"]
    assert source(tmp_path / "steps.jsonl")["plan"]["kernels"] == "compiled"


def test_a_model_that_is_compiled_inside_is_seen_as_it_is_called(tmp_path: Path) -> None:
    torch._dynamo.reset()
    model = llama()
    optimizer = adamw(model)
    with StepTimer("steps.jsonl", model, optimizer, warmup_steps=1) as timer:
        compiled = torch.compile(model, backend="eager", dynamic=False)
        for _ in range(6):
            with timer.step():
                train_step(compiled, optimizer, [packed(4), packed(5)])
    assert packs(tmp_path / "steps.jsonl")[-1] == "1x4/1x5"


def tiny() -> Any:
    """A model that is none of transformers, of which documents are told by cu_seqlens."""
    import training

    return training.TinyLlama(training.CONFIG, dtype=torch.bfloat16)


def train_tiny(model: Any, optimizer: Any, ends: list[int], n_tokens: int) -> None:
    ids = torch.randint(1, 61, (1, n_tokens))
    positions = torch.cat([torch.arange(b - a) for a, b in zip(ends, ends[1:], strict=False)])
    positions = torch.nn.functional.pad(positions, (0, n_tokens - len(positions)))[None]
    logits = model(
        ids, positions, cu_seqlens=torch.tensor([*ends, n_tokens] if n_tokens > ends[-1] else ends)
    )
    logits.float().square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def test_documents_of_any_model_are_those_that_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "tiny.json").write_text(json.dumps({"format": 1, "name": "tiny", "layers": 2}))
    model = tiny()
    optimizer = adamw(model)
    with StepTimer("steps.jsonl", model, optimizer, warmup_steps=1, model_name="tiny.json") as timer:
        for _ in range(5):
            with timer.step():
                train_tiny(model, optimizer, [0, 4, 9], 12)
    row = rows(tmp_path / "steps.jsonl")[0]
    # Attention works through documents, and through padding as one more.
    assert value(row, "model") == "tiny.json" and value(row, "packs") == "1x4+1x5+1x3"
    assert row["details"]["padding_tokens"] == 3 and row["details"]["documents"] == "1x4+1x5"
    plan = source(tmp_path / "steps.jsonl")["plan"]
    assert plan["kernels"] == "mixed" and plan["loss"] == "plain"


def test_documents_may_be_given(tmp_path: Path) -> None:
    model = llama()
    optimizer = adamw(model)
    with StepTimer("steps.jsonl", model, optimizer, warmup_steps=1) as timer:
        for _ in range(5):
            with timer.step(documents=[[4, 4], [3]]):
                train_step(model, optimizer, [packed(8), packed(6)])
        for documents, message in (
            ([[4, 4]], "documents: expected those of 2 micro-batches, which were seen, got 1"),
            (
                [[4], [0]],
                r"documents\[1\]: expected lengths of at least 1, together at most 6, .*, got \[0\]",
            ),
            (
                [[9], [1]],
                r"documents\[0\]: expected lengths of at least 1, together at most 8, .*, got \[9\]",
            ),
        ):
            again = StepTimer("other.jsonl", model, optimizer)
            with pytest.raises(ValueError, match=message), again.step(documents=documents):
                train_step(model, optimizer, [packed(8), packed(6)])
    assert packs(tmp_path / "steps.jsonl")[0] == "2x4/2x3"
    assert rows(tmp_path / "steps.jsonl")[0]["details"]["padding_tokens"] == 3


def test_a_model_that_hooks_do_not_see_needs_documents(tmp_path: Path) -> None:
    model = llama()
    optimizer = adamw(model)
    timer = StepTimer("steps.jsonl", model, optimizer)
    message = "step 1: expected forward passes of the model that was given, or documents, got none"
    with pytest.raises(ValueError, match=message), timer.step():
        pass
    with StepTimer("steps.jsonl", model, optimizer, warmup_steps=1) as timer:
        for _ in range(5):
            with timer.step(documents=[[7]]):
                model.forward(**packed(7)).loss.backward()
                optimizer.step()
    assert packs(tmp_path / "steps.jsonl")[0] == "1x7"


def mistakes_of(model: Any, optimizer: Any = None, batch: Any = None, **said: Any) -> list[str]:
    """What the first step raises, once its hooks are gone."""
    optimizer = adamw(model) if optimizer is None else optimizer
    timer = StepTimer("steps.jsonl", model, optimizer, **said)
    with pytest.raises(ValueError) as caught, timer.step():
        train_step(model, optimizer, [packed(6) if batch is None else batch])
    assert not model._forward_pre_hooks and not model._forward_hooks
    timer.begin_step()
    timer.end_step()
    assert timer.n_steps == 1
    return str(caught.value).splitlines()


def test_what_is_said_and_seen_otherwise_is_told_at_once() -> None:
    model = llama()
    model.gradient_checkpointing_enable()
    said: dict[str, Any] = {"gc_layers": 1, "dp": 2, "attention": "documents", "plan": {"optimizer": "lion"}}
    assert mistakes_of(model, **said) == [
        "dp: expected 1, which is what 1 processes are over sp 1 x tp 1, got 2",
        "gc_layers: expected 2, which is what the model recomputes, got 1",
        "attention: expected rows, which is what sdpa works through, got documents",
        "plan.optimizer: expected 'adamw_bf16', which is seen, got 'lion' (str)",
    ]
    assert not Path("steps.jsonl").exists()


def test_processes_that_cannot_talk_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    expected = "torch.distributed: expected it to be initialised, as 2 processes train, got none"
    assert mistakes_of(llama()) == [expected]


def test_a_model_has_parameters() -> None:
    with pytest.raises(ValueError, match="model: expected parameters, got none"):
        StepTimer("steps.jsonl", torch.nn.Identity(), None)


def test_degrees_that_processes_do_not_have_are_refused() -> None:
    expected = "sp, plan.tp_degree: expected a product that divides the 1 processes, got 2 x 2"
    assert expected in mistakes_of(llama(), sp=2, plan={"tp_degree": 2})


def test_what_rows_cannot_say_is_told_at_once() -> None:
    model = llama(torch.float32)
    model.model.embed_tokens.weight.requires_grad = False
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert mistakes_of(model, optimizer) == [
        "model: expected matrix products in bfloat16, as those of rows of steps, got float32",
        "model: expected all parameters to be trained, or LoRA, got 1 that are frozen, "
        "model.embed_tokens.weight",
        "optimizer: expected one that plans have, or plan={'optimizer': ...} that says which is alike, got "
        "SGD of float32 weights",
    ]


def test_arguments_are_checked_before_training() -> None:
    model = llama()
    plan = {"pp_degree": 2, "cp_degree": 2, "zero_stage": 3, "kernel": "eager", "tp_degree": 0}
    with pytest.raises(ValueError) as caught:
        StepTimer(
            "steps.jsonl", model, adamw(model), sp=0, zero=4, warmup_steps=0, attention="all", plan=plan
        )
    assert str(caught.value).splitlines()[:-2] == [
        "sp: expected integer in 1..1048576, got 0 (int)",
        "zero: expected integer in 0..3, got 4 (int)",
        "warmup_steps: expected integer in 1..1048576, got 0 (int)",
        "attention: expected one of documents, rows, got 'all' (str)",
        "plan.pp_degree: expected none, because rows of steps have no pipeline, got 2",
        "plan.cp_degree: expected none, because rows of steps have no ring attention, got 2",
        "plan.zero_stage: expected it as the argument zero, got 3",
    ]
    assert "plan.kernel: expected an option that `calibrate fit` reads (did you mean kernels?)" in str(
        caught.value
    )
    assert "plan.tp_degree: expected integer in 1..1048576, got 0 (int)" in str(caught.value)
    with pytest.raises(ValueError, match="plan: expected a mapping of keys to values, got 3 "):
        StepTimer("steps.jsonl", model, adamw(model), plan=3)
    with pytest.raises(ValueError, match="model_name: expected a name or a path without spaces, got 'a b'"):
        StepTimer("steps.jsonl", model, adamw(model), model_name="a b")
    with pytest.raises(ValueError, match="said: expected it or its fields, got both: sp"):
        StepTimer("steps.jsonl", model, adamw(model), Said(), sp=1)
    with pytest.raises(TypeError, match="zer"):
        StepTimer("steps.jsonl", model, adamw(model), zer=1)
    assert not model._forward_pre_hooks


def test_a_model_is_the_one_that_is_named(tmp_path: Path) -> None:
    model = llama()
    (tmp_path / "other.json").write_text(json.dumps({"layers": 2, "hidden_size": 32, "vocab_size": 61}))
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "torn.json").write_text("{")
    for name, message in (
        ("other.json", "the model that is trained, got 'other.json': hidden_size 32 there and 16 here"),
        ("list.json", "list.json: expected a JSON object, got list"),
        ("torn.json", "torn.json: expected JSON, got: "),
        ("./none.json", "none.json: expected the file of a model, got: No such file or directory"),
        ("llama4", "model_name: expected a path, or one of .*llama3.1-8b, .*, got 'llama4'"),
        ("llama3.1-8b", "got 'llama3.1-8b': layers 32 there and 2 here"),
    ):
        with pytest.raises(ValueError, match=message):
            raise ValueError("\n".join(mistakes_of(model, model_name=name)))
    assert "model_name: expected a shipped model or the path of its file" in mistakes_of_tiny()
    assert "tiny.json: expected layers or num_hidden_layers, got neither" in mistakes_of_tiny("tiny.json")


def mistakes_of_tiny(name: str | None = None) -> str:
    Path("tiny.json").write_text("{}")
    model = tiny()
    optimizer = adamw(model)
    timer = StepTimer("steps.jsonl", model, optimizer, model_name=name)
    with pytest.raises(ValueError) as caught, timer.step():
        train_tiny(model, optimizer, [0, 4], 4)
    return str(caught.value)


def test_a_shipped_model_without_its_data_is_taken_at_its_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", os.fspath(tmp_path))
    monkeypatch.delenv("PACKSIM_DATA", raising=False)
    model = llama()
    optimizer = adamw(model)
    with StepTimer("steps.jsonl", model, optimizer, warmup_steps=1, model_name="llama3.1-8b") as timer:
        for _ in range(5):
            with timer.step():
                train_step(model, optimizer, [packed(6)])
    assert value(rows(tmp_path / "steps.jsonl")[0], "model") == "llama3.1-8b"
    assert "expected the path of a model's file, as packsim's data are not beside" in mistakes_of_tiny(
        "llama3.1-8b"
    )


def test_the_config_of_another_model_is_not_written_over(tmp_path: Path) -> None:
    timed_runs.timed_loop("steps.jsonl", 6, warmup_steps=1)
    expected = (
        r"\./llama.json: expected the config of this model, got another: hidden_size 16 there and 32 here"
    )
    with pytest.raises(ValueError, match=expected):
        raise ValueError("\n".join(mistakes_of(llama(hidden_size=32))))
    (tmp_path / "my runs").mkdir()
    model = llama()
    timer = StepTimer("my runs/steps.jsonl", model, adamw(model))
    with pytest.raises(ValueError, match="my runs/steps.jsonl: expected a path without spaces"), timer.step():
        train_step(model, adamw(model), [packed(6)])


def test_a_file_that_cannot_be_gone_on_with_is_refused_behind_the_first_step(tmp_path: Path) -> None:
    (tmp_path / "steps.jsonl").write_text("other text\n")
    with pytest.raises(ValueError, match="steps.jsonl:1: "):
        raise ValueError("\n".join(mistakes_of(llama())))
    assert (tmp_path / "steps.jsonl").read_text() == "other text\n"
    model = llama()
    timer = StepTimer("nowhere/steps.jsonl", model, adamw(model), model_name="./llama.json")
    with pytest.raises(OSError, match="nowhere/steps.jsonl: No such file or directory"), timer.step():
        train_step(model, adamw(model), [packed(6)])
    (tmp_path / "steps.jsonl").unlink()
    with StepTimer("steps.jsonl", model, adamw(model), warmup_steps=1) as first:
        with first.step():
            train_step(model, adamw(model), [packed(6)])
        second = StepTimer("steps.jsonl", model, adamw(model))
        with pytest.raises(ValueError, match="got one that another run is writing"), second.step():
            train_step(model, adamw(model), [packed(6)])
        shutil.rmtree(tmp_path / "nowhere", ignore_errors=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first.close()


def test_attention_over_whole_rows_is_said_once() -> None:
    model = llama()
    optimizer = adamw(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with StepTimer("steps.jsonl", model, optimizer, warmup_steps=1) as timer:
            for _ in range(6):
                with timer.step():
                    train_step(model, optimizer, [packed(3, 4)])
    assert [str(warning.message)[:50] for warning in caught] == [
        "attention: sdpa works through whole rows, padding "
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with StepTimer("alone.jsonl", model, optimizer, warmup_steps=1) as timer:
            for _ in range(6):
                with timer.step():
                    train_step(model, optimizer, [packed(7)])


def test_the_slowest_of_two_processes_counts_and_the_first_one_writes(
    two_processes: ProcessPool, tmp_path: Path
) -> None:
    answers = two_processes.run(timed_runs.in_two_processes, os.fspath(tmp_path))
    assert answers == [{"n_rows": 4, "left_out": {"warm-up": 1}}] * 2
    found = rows(tmp_path / "steps.jsonl")
    assert len(found) == 4
    for row in found:
        assert value(row, "dp") == "2" and value(row, "zero") == "0"
        # The second process waits for 0.05 s, and the first one for the second one's gradients.
        assert row["samples_s"][0] >= 0.05
        assert row["samples_s"][0] == pytest.approx(max(row["details"]["times_s"]), abs=1e-5)
        # Documents of 9 and 4, or 9 and 12 tokens: those of the process with more.
        tokens = row["details"]["tokens_of_processes"]
        assert sorted(tokens) == [13, 21] and row["details"]["tokens"] == 21
        assert row["details"]["documents"] == "1x9+1x12"
    assert source(tmp_path / "steps.jsonl")["details"]["processes"] == 2


@pytest.mark.parametrize(("reshards", "zero"), [(True, "3"), (False, "2")])
def test_processes_that_send_gradients_in_every_micro_batch_wait_for_the_longest_of_each(
    two_processes: ProcessPool, tmp_path: Path, reshards: bool, zero: str
) -> None:
    two_processes.run(timed_runs.fully_sharded, os.fspath(tmp_path), reshards)
    found = rows(tmp_path / "steps.jsonl")
    # The second process has one token more in the first micro-batch, the first one in the second.
    assert [value(row, "packs") for row in found] == ["1x13/1x19", "1x16/1x16", "1x19/1x13", "1x22/1x10"]
    assert {value(row, "zero") for row in found} == {zero}
    assert source(tmp_path / "steps.jsonl")["plan"]["optimizer"] == "adamw_fp32"


def test_a_mistake_of_one_process_is_one_of_all(two_processes: ProcessPool, tmp_path: Path) -> None:
    answers = two_processes.run(timed_runs.mistaken_in_one_process, os.fspath(tmp_path))
    expected = "expected lengths of at least 1, together at most 6, which were seen, got [99]"
    assert answers == [f"process 1: documents[0]: {expected}"] * 2
