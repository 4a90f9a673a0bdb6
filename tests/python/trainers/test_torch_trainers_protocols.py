"""Rows for other trainers, Megatron-Core, verl and axolotl, by what those frameworks do with them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import trainer_runs  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as drawn  # noqa: E402
from process_pool import ProcessPool  # noqa: E402

import packsim  # noqa: E402
from packsim.torch import PackCollator, PlanLoader  # noqa: E402
from packsim.trainers import (  # noqa: E402
    MegatronBatches,
    micro_batch_indices,
    packed_dataset,
    rearrange_micro_batches,
)


def read(path: Path) -> Any:
    datasets = pytest.importorskip("datasets")
    read_file = datasets.Dataset.from_parquet if path.suffix == ".parquet" else datasets.Dataset.from_file
    return read_file(str(path))


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_rows_are_the_micro_batches_in_turn(ending: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    plan = trainer_runs.made_plan(4)
    path = tmp_path / f"rows{ending}"
    counts = packed_dataset(plan, trainer_runs.samples(), path, epoch=1, world_size=2)
    rows = read(path)
    loaders = [PlanLoader(plan, trainer_runs.samples(), rank=rank, world_size=2) for rank in range(2)]
    for loader in loaders:
        loader.set_epoch(1)
    expected = [batch for turn in zip(*loaders, strict=True) for batch in turn]
    assert len(rows) == len(expected) == counts.n_rows
    for row, batch in zip(rows, expected, strict=True):
        for name in ("input_ids", "labels", "position_ids", "loss_weights"):
            assert row[name] == batch[name][0].tolist()
        assert row["seq_lengths"] == batch["cu_seqlens"].diff().tolist()
        assert (row["is_last"], row["iteration"]) == (batch.is_last, batch.micro_batch.iteration)
    # Thirteen packs on two processes: one process is idle once.
    assert (counts.n_rows, counts.n_idle_rows) == (14, 1)
    assert counts.n_tokens == sum(trainer_runs.LENGTHS)
    assert counts.n_padding_tokens == 1


def test_rows_train_trl_as_the_plan_trains(tmp_path: Path) -> None:
    """TRL goes through prepacked rows, and divides by all labels of a step: the normaliser "stable"."""
    trl = pytest.importorskip("trl")
    packing = packsim.pack(trainer_runs.LENGTHS, strategy="bfd", capacity_tokens=64)
    planning: dict[str, Any] = {"micro_batches_per_rank": 4, "loss_tokens": trainer_runs.loss_tokens()}
    plan = packsim.make_plan(packing, last_iteration="drop", **planning)
    packed_dataset(plan, trainer_runs.samples(), tmp_path / "rows.parquet")
    args = trainer_runs.trainer_arguments(
        trl.SFTConfig,
        str(tmp_path),
        bf16=False,
        gradient_checkpointing=False,
        max_steps=plan.n_iterations,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=4,
        padding_free=True,
        max_length=None,
        train_sampling_strategy="sequential",
    )
    model = trainer_runs.small_llama()
    trainer = trl.SFTTrainer(
        model,
        args,
        train_dataset=read(tmp_path / "rows.parquet"),
        processing_class=trainer_runs.tokenizer(),
    )
    trainer.train()
    expected = trainer_runs.trained_unpacked(plan.to_bytes(), plan.n_iterations)
    found = trainer_runs.flat(model)
    assert float((found - expected).norm() / expected.norm()) < 1e-5


def test_rows_refuse_what_they_cannot_hold(tmp_path: Path) -> None:
    packing = packsim.pack(trainer_runs.LENGTHS, strategy="none", capacity_tokens=64)
    plan = packsim.make_plan(packing, loss_tokens=trainer_runs.loss_tokens())
    with pytest.raises(ValueError) as caught:
        packed_dataset(plan, trainer_runs.samples(), tmp_path / "rows.json")
    assert str(caught.value).splitlines() == [
        'path: expected to end in .parquet or .arrow, got "rows.json"',
        "plan: expected one of packed samples, got rows by none",
    ]


def with_rewards() -> tuple[packsim.Plan, list[Any], PackCollator]:
    plan = trainer_runs.made_plan(1)
    data = [sample | {"reward": float(index)} for index, sample in enumerate(trainer_runs.samples())]
    return plan, data, PackCollator(plan, columns={"reward": "stack"})


def test_columns_of_samples_get_lost_in_no_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    plan, data, collator = with_rewards()
    with pytest.raises(
        ValueError, match='columns of rule "ones" or "drop", as rows have no others, got reward'
    ):
        packed_dataset(plan, data, tmp_path / "rows.parquet", collator=collator)
    dropping = PackCollator(plan, columns={"reward": "drop"})
    packed_dataset(plan, data, tmp_path / "rows.parquet", collator=dropping)


def test_columns_of_samples_are_beside_those_of_megatron() -> None:
    plan, data, collator = with_rewards()
    found = next(MegatronBatches(plan, data, collator, rank=0, world_size=2))
    first = next(iter(PlanLoader(plan, data, collator, rank=0, world_size=2)))
    assert found["reward"].tolist() == list(first.micro_batch.samples)
    assert set(found) == {"tokens", "labels", "loss_mask", "position_ids", "packed_seq_params", "reward"}


def test_a_file_that_is_not_finished_is_not_there(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    data = trainer_runs.samples()
    data[7] = {"input_ids": [1, 2, 3], "labels": [1, 2, 3]}
    with pytest.raises(ValueError, match="sample 7: expected"):
        packed_dataset(trainer_runs.made_plan(1), data, tmp_path / "rows.parquet")
    assert list(tmp_path.iterdir()) == []


def test_megatron_gets_the_gradients_of_the_plan() -> None:
    """As its schedules have it: loss over micro-batches, gradients averaged over data-parallel ranks."""
    plan = trainer_runs.made_plan(2, last_iteration="drop")
    gradients = []
    for rank in range(2):
        batches = MegatronBatches(plan, trainer_runs.samples(), rank=rank, world_size=2)
        model = trainer_runs.small_llama()
        for _ in range(batches.n_micro_batches):
            data = next(batches)
            params = data["packed_seq_params"]
            assert params["qkv_format"] == "thd"
            assert params["cu_seqlens_q"] is params["cu_seqlens_kv"]
            assert params["cu_seqlens_q"].diff().max() == params["max_seqlen_q"] == params["max_seqlen_kv"]
            inputs = {"input_ids": data["tokens"], "position_ids": data["position_ids"]}
            logits = model(**inputs, use_cache=False).logits
            token_losses = torch.nn.functional.cross_entropy(logits[0], data["labels"][0], reduction="none")[
                None
            ]
            loss, report = partial(batches.loss_func, data["loss_mask"])(token_losses)
            assert report["lm loss"] == loss.detach()
            (loss / batches.n_micro_batches).backward()
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
    model = trainer_runs.small_llama()
    begin = trainer_runs.flat(model)
    after = trainer_runs.trained_unpacked(plan.to_bytes(), 1)
    expected = (begin - after) / trainer_runs.LEARNING_RATE
    found = sum(gradients) / 2
    assert float((found - expected).norm() / expected.norm()) < 1e-5


def test_megatron_goes_through_epochs_and_on_from_a_state() -> None:
    plan = trainer_runs.made_plan(2, last_iteration="drop")

    def made() -> MegatronBatches:
        return MegatronBatches(plan, trainer_runs.samples(), rank=0, world_size=2)

    n_epoch = plan.iterations_per_epoch * 2
    whole = [next(batches) for batches in [made()] for _ in range(n_epoch + 3)]
    first, resumed = made(), made()
    for _ in range(n_epoch + 2):
        next(first)
    resumed.load_state_dict(first.state_dict())
    assert (next(resumed)["tokens"] == whole[-1]["tokens"]).all()
    with pytest.raises(ValueError, match='got 1, 2; make it with last_iteration "drop" or "repeat"'):
        MegatronBatches(trainer_runs.made_plan(2), trainer_runs.samples(), rank=0, world_size=2)


@given(drawn.lists(drawn.integers(1, 100), min_size=1, max_size=40), drawn.integers(0, 40))
def test_verl_micro_batches_have_every_row_once_and_keep_the_limit(lengths: list[int], more: int) -> None:
    least = len(micro_batch_indices(lengths, 100))
    n_micro_batches = min(least + more, len(lengths))
    for indices in (
        micro_batch_indices(lengths, 100),
        micro_batch_indices(lengths, 100, n_micro_batches),
    ):
        assert sorted(row for rows in indices for row in rows) == list(range(len(lengths)))
        assert all(0 < sum(lengths[row] for row in rows) <= 100 for rows in indices)
        work = [sum(lengths[row] ** 2 for row in rows) for rows in indices]
        assert work == sorted(work, reverse=True)
    assert len(micro_batch_indices(lengths, 100, n_micro_batches)) == n_micro_batches


def test_verl_micro_batches_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="lengths_tokens: expected rows of at most 10 tokens, got one of 11"):
        micro_batch_indices([3, 11], 10)
    with pytest.raises(ValueError, match="expected 2, which the tokens need, to 3, the rows, got 4"):
        micro_batch_indices([8, 7, 2], 10, 4)


def test_verl_options_that_packing_would_ignore_are_refused() -> None:
    batch = Rows(attention_mask=torch.ones(2, 3))
    with pytest.raises(
        ValueError, match="force_group_size: expected 1, as rows are packed one by one, got 2"
    ):
        rearrange_micro_batches(batch, 12, force_group_size=2)
    with pytest.raises(TypeError, match="some_later_option"):
        rearrange_micro_batches(batch, 12, some_later_option=True)  # type: ignore[call-arg]


class Rows(dict[str, Any]):
    """What rearrange_micro_batches() uses of a TensorDict."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return super().__getitem__(key)
        return Rows({name: value[key] for name, value in self.items()})


def rearranged(lengths_of_ranks: list[list[int]], **options: Any) -> tuple[int, list[list[int]], bool]:
    lengths = lengths_of_ranks[torch.distributed.get_rank()]
    mask = torch.arange(12)[None] < torch.tensor(lengths)[:, None]
    batch = Rows(attention_mask=mask.long(), ids=torch.arange(len(lengths)))
    group = torch.distributed.group.WORLD
    micro_batches, indices = rearrange_micro_batches(
        batch, 12, group, use_dynamic_bsz_balance=True, **options
    )
    are_rows = all(one["ids"].tolist() == rows for one, rows in zip(micro_batches, indices, strict=True))
    return len(micro_batches), indices, are_rows


def test_verl_ranks_have_as_many_micro_batches(two_processes: ProcessPool) -> None:
    # 12 and 24 tokens in micro-batches of 12: one and two are needed, and with a multiple of four, four.
    lengths = [[3, 3, 3, 3], [12, 4, 4, 4]]
    for options, n_expected in (({}, 2), ({"num_batches_divided_by": 4}, 4), ({"min_num_micro_batch": 3}, 3)):
        for n_found, indices, are_rows in two_processes.run(partial(rearranged, **options), lengths):
            assert n_found == n_expected
            assert sorted(row for rows in indices for row in rows) == [0, 1, 2, 3]
            assert are_rows


def test_axolotl_refuses_to_pack_twice() -> None:
    import fake_axolotl

    fake_axolotl.install()
    from packsim.trainers.axolotl import PacksimArgs, PacksimPlugin

    plugin = PacksimPlugin()
    with pytest.raises(ValueError) as caught:
        plugin.register({"sample_packing": True, "rl": "dpo"})
    assert str(caught.value).splitlines() == [
        "sample_packing: expected none beside packsim, got True",
        "rl: expected none beside packsim, got 'dpo'",
    ]
    assert plugin.get_input_args() == "packsim.trainers.axolotl.PacksimArgs"
    assert PacksimArgs(packsim_plan="train.plan").packsim_check_isolation


def test_axolotl_plans_the_prepared_data(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    import fake_axolotl

    fake_axolotl.install()
    from axolotl.core.training_args import AxolotlTrainingArguments

    from packsim.trainers import PacksimPlugin

    args = trainer_runs.trainer_arguments(
        AxolotlTrainingArguments, str(tmp_path), gradient_accumulation_steps=3, per_device_train_batch_size=1
    )
    trainer = PacksimPlugin().get_trainer_cls({"sequence_len": 64})(
        model=trainer_runs.small_llama(),
        args=args,
        train_dataset=datasets.Dataset.from_list(trainer_runs.samples()),
        processing_class=trainer_runs.tokenizer(),
    )
    trainer.plan.check_lengths(np.array(trainer_runs.LENGTHS))
    assert [len(step) for step in trainer.plan][:2] == [3, 3]
    assert args.gradient_accumulation_steps == 3  # the trainer has a copy
