"""The Trainer of transformers and TRL's SFTTrainer on plans: resume, refusals, plans of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import trainer_runs  # noqa: E402
from training_cases import VOCABULARY  # noqa: E402
from transformers import TrainingArguments  # noqa: E402

import packsim  # noqa: E402
from packsim.torch import PlanLoader, weighted_loss  # noqa: E402
from packsim.trainers import PackedTrainer  # noqa: E402


def plan_of_one(**more: Any) -> packsim.Plan:
    """For one process, of iterations of two and one micro-batches."""
    planning = {"micro_batches_per_rank": 2, "loss_tokens": trainer_runs.loss_tokens(), "epochs": 2, **more}
    packing = packsim.pack(trainer_runs.LENGTHS, strategy="bfd", capacity_tokens=64)
    return packsim.make_plan(packing, last_iteration="shorten", **planning)


def made(folder: Path, plan: packsim.Plan, n_steps: int = 4, **more: Any) -> Any:
    named = {"max_steps": n_steps, "save_strategy": "steps", "save_steps": 2, **more}
    args = trainer_runs.trainer_arguments(TrainingArguments, str(folder), **named)
    return PackedTrainer(trainer_runs.small_llama(), args, plan=plan, train_dataset=trainer_runs.samples())


def test_training_goes_on_where_a_checkpoint_was_taken(tmp_path: Path) -> None:
    plan = plan_of_one()
    n_steps = plan.iterations_per_epoch + 3
    whole = made(tmp_path / "whole", plan, n_steps)
    whole.train()
    # The checkpoint is in the second epoch, behind the short iteration at the end of the first.
    saved_at = plan.iterations_per_epoch + 1
    parts = made(tmp_path / "parts", plan, saved_at, save_steps=saved_at)
    parts.train()
    resumed = made(tmp_path / "parts", plan, n_steps, save_steps=saved_at)
    resumed.train(resume_from_checkpoint=True)
    assert (trainer_runs.flat(resumed.model) == trainer_runs.flat(whole.model)).all()
    assert resumed.state.epoch == whole.state.epoch == n_steps / plan.iterations_per_epoch
    assert resumed.plan_loader.steps_done == n_steps
    # Trained anew, it begins with the plan.
    resumed.train()
    assert resumed.plan_loader.steps_done == n_steps


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    made(tmp_path, plan_of_one()).train()
    other = made(tmp_path, plan_of_one(seed=5))
    with pytest.raises(ValueError, match="state: expected one of plan .*, got one of plan"):
        other.train(resume_from_checkpoint=True)
    (tmp_path / "checkpoint-4" / "plan_loader.json").unlink()
    with pytest.raises(ValueError, match="expected the place of training, which this trainer saves"):
        made(tmp_path, plan_of_one()).train(resume_from_checkpoint=True)


def test_the_logged_loss_is_that_of_the_step(tmp_path: Path) -> None:
    plan = plan_of_one()
    trainer = made(tmp_path, plan, 1)
    trainer.train()
    model, expected = trainer_runs.small_llama(), 0.0
    for batch in next(PlanLoader(plan, trainer_runs.samples(), rank=0, world_size=1).steps()):
        logits = model(
            input_ids=batch["input_ids"], position_ids=batch["position_ids"], use_cache=False
        ).logits
        expected += weighted_loss(logits, batch["labels"], batch["loss_weights"]).item()
    assert trainer.state.log_history[0]["loss"] == pytest.approx(expected, rel=1e-5)


def test_arguments_without_a_place_are_refused_at_once(tmp_path: Path) -> None:
    plan = plan_of_one()
    args = trainer_runs.trainer_arguments(
        TrainingArguments, str(tmp_path), gradient_accumulation_steps=3, label_smoothing_factor=0.1
    )
    with pytest.raises(ValueError) as caught:
        PackedTrainer(
            trainer_runs.small_llama(),
            args,
            plan=plan,
            train_dataset=trainer_runs.samples(),
            compute_loss_func=lambda *_: None,
        )
    assert str(caught.value).splitlines() == [
        "compute_loss_func: expected None, because the plan's weights make the loss, got a function",
        "args.label_smoothing_factor: expected 0, because the loss is not smoothed, got 0.1",
        "args.gradient_accumulation_steps: expected 1, because the plan says how many micro-batches each "
        "step has (1, 2 on 1 processes), got 3",
    ]


def test_what_the_plan_decides_is_refused_where_it_would_be_ignored(tmp_path: Path) -> None:
    sampling = "train_sampling_strategy"
    with pytest.raises(ValueError) as caught:
        made(tmp_path, plan_of_one(), auto_find_batch_size=True, **{sampling: "group_by_length"})
    assert str(caught.value).splitlines() == [
        "args.auto_find_batch_size: expected False, because the plan says what a step has, got True",
        'args.train_sampling_strategy: expected none, because the plan has an order, got "group_by_length"',
    ]


@pytest.mark.parametrize("name", ["lomo", "galore_adamw_layerwise"])
def test_optimizers_that_step_inside_a_backward_pass_are_refused(name: str, tmp_path: Path) -> None:
    trainer = made(tmp_path, plan_of_one(), optim=name)
    with pytest.raises(
        ValueError, match=f'args.optim: expected .* steps of 2 micro-batches, .*, got "{name}"'
    ):
        trainer.train()
    packing = packsim.pack(trainer_runs.LENGTHS, strategy="bfd", capacity_tokens=64)
    alone = packsim.make_plan(packing, loss_tokens=trainer_runs.loss_tokens())
    made(tmp_path, alone, optim=name).get_train_dataloader()


def test_accumulation_steps_may_say_what_the_plan_says(tmp_path: Path) -> None:
    packing = packsim.pack(trainer_runs.LENGTHS, strategy="bfd", capacity_tokens=64)
    plan = packsim.make_plan(
        packing, micro_batches_per_rank=2, last_iteration="repeat", loss_tokens=trainer_runs.loss_tokens()
    )
    trainer = made(tmp_path, plan, 1, gradient_accumulation_steps=2)
    trainer.train()
    assert trainer.plan_loader.steps_done == trainer.state.global_step == 1


def test_packs_of_several_processes_are_refused(tmp_path: Path) -> None:
    packing = packsim.pack(trainer_runs.LENGTHS, strategy="bfd", capacity_tokens=64)
    plan = packsim.make_plan(packing, n_gpus=2, sp_degree=2, loss_tokens=trainer_runs.loss_tokens())
    trainer = made(tmp_path, plan)
    trainer.get_train_dataloader()  # one process has both GPUs
    trainer.args.distributed_state.num_processes, before = 2, trainer.args.distributed_state.num_processes
    try:
        with pytest.raises(ValueError, match="plan: expected packs that one process trains alone"):
            trainer.get_train_dataloader()
    finally:
        trainer.args.distributed_state.num_processes = before


def test_evaluation_is_the_trainers_own(tmp_path: Path) -> None:
    rows = [torch.arange(1, 9).tolist(), torch.arange(9, 17).tolist()]
    trainer = made(tmp_path, plan_of_one())
    found = trainer.evaluate([{"input_ids": row, "labels": row} for row in rows])["eval_loss"]
    ids = torch.tensor(rows)
    with torch.no_grad():
        expected = float(trainer_runs.small_llama().eval()(input_ids=ids, labels=ids).loss)
    assert found == pytest.approx(expected, rel=1e-5)


def test_evaluation_calls_a_model_with_what_it_takes(tmp_path: Path) -> None:
    """A loss that is no mean over all items of a batch is not scaled by processes, either."""
    from transformers import LlamaForCausalLM

    class Strict(LlamaForCausalLM):
        accepts_loss_kwargs = False

        def forward(
            self, input_ids: Any = None, position_ids: Any = None, labels: Any = None, use_cache: Any = None
        ) -> Any:
            named = {"input_ids": input_ids, "position_ids": position_ids, "labels": labels}
            return super().forward(**named, use_cache=use_cache)

    torch.manual_seed(0)
    model = Strict(trainer_runs.small_llama().config)
    args = trainer_runs.trainer_arguments(TrainingArguments, str(tmp_path), max_steps=1)
    plan = plan_of_one()
    trainer = PackedTrainer(model, args, plan=plan, train_dataset=trainer_runs.samples())
    rows = [{"input_ids": [1, 2, 3, 4], "labels": [1, 2, 3, 4]}]
    before = trainer.evaluate(rows)["eval_loss"]
    ids = torch.tensor([[1, 2, 3, 4]])
    assert before == pytest.approx(float(model.eval()(input_ids=ids, labels=ids).loss), rel=1e-5)
    trainer.train()
    trainer.evaluate(rows)


def test_a_mixture_of_experts_keeps_its_auxiliary_loss(tmp_path: Path) -> None:
    from transformers import MixtralConfig, MixtralForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_local_experts": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    config = MixtralConfig(
        vocab_size=VOCABULARY, output_router_logits=True, router_aux_loss_coef=0.5, **sizes, **heads
    )
    model = MixtralForCausalLM(config)
    plan = plan_of_one()
    args = trainer_runs.trainer_arguments(TrainingArguments, str(tmp_path))
    trainer = PackedTrainer(model, args, plan=plan, train_dataset=trainer_runs.samples())
    batch = next(iter(trainer.get_train_dataloader()))[0]
    trainer._n_micro_batches = 2
    loss, outputs = trainer.compute_loss(model, batch, return_outputs=True)
    plain = weighted_loss(outputs.logits, batch["labels"], batch["loss_weights"])
    auxiliary = outputs.aux_loss.item()
    assert auxiliary > 0.5
    # The mean over the two micro-batches of the step.
    assert (loss - plain).item() == pytest.approx(0.5 * auxiliary / 2, rel=1e-4)


def sft_trainer(folder: Path, dataset: Any, **more: Any) -> Any:
    trl = pytest.importorskip("trl")
    from packsim.trainers import PackedSFTTrainer

    named: dict[str, Any] = {"bf16": False, "gradient_checkpointing": False, "max_steps": 3, **more}
    plan = named.pop("plan", None)
    args = trainer_runs.trainer_arguments(trl.SFTConfig, str(folder), **named)
    tokenizer = trainer_runs.tokenizer()
    return PackedSFTTrainer(
        trainer_runs.small_llama(), args, plan=plan, train_dataset=dataset, processing_class=tokenizer
    )


def test_sft_plans_what_it_has_tokenized_and_trains_it_exactly(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    inputs = [sample["input_ids"] for sample in trainer_runs.samples()]
    texts = [" ".join(trainer_runs.WORDS[i] for i in ids) for ids in inputs]
    # TRL adds the token that ends a text where there is none, and truncates.
    tokens = [[*ids, 1][:48] if ids[-1] != 1 else ids[:48] for ids in inputs]
    batches = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 2, "packing": True}
    dataset = datasets.Dataset.from_dict({"text": texts})
    trainer = sft_trainer(tmp_path, dataset, max_length=48, **batches)
    # Two rows a batch and two batches a step in TRL are four packs a step here.
    assert trainer.plan.facts["strategy"] == "bfd"
    assert [len(step) for step in trainer.plan][:3] == [4, 4, 4]
    assert trainer.plan.groups[0].capacity_tokens == 48
    lengths = list(map(len, tokens))
    trainer.plan.check_lengths(lengths)
    assert "text" in trainer.train_dataset.column_names  # which no collator takes
    trainer.train()
    model = trainer_runs.small_llama()
    optimizer = trainer_runs.gradient_descent(model)
    for iteration in range(3):
        optimizer.zero_grad()
        samples = [index for pack in trainer.plan.micro_batches(iteration) for index in pack]
        n_loss_tokens = sum(lengths[index] - 1 for index in samples)
        for index in samples:
            ids = torch.tensor([tokens[index]])
            model(input_ids=ids, labels=ids).loss.mul((ids.shape[1] - 1) / n_loss_tokens).backward()
        optimizer.step()
    found, expected = trainer_runs.flat(trainer.model), trainer_runs.flat(model)
    assert float((found - expected).norm() / expected.norm()) < 1e-5
    in_first_step = [lengths[index] for pack in trainer.plan.micro_batches(0) for index in pack]
    assert trainer.state.log_history[0]["num_tokens"] == sum(in_first_step)


def test_sft_weighs_the_auxiliary_loss_as_its_arguments_say(tmp_path: Path) -> None:
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    from transformers import MixtralConfig, MixtralForCausalLM

    from packsim.trainers import PackedSFTTrainer

    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    experts = {"num_local_experts": 4, "num_key_value_heads": 2}
    losses = []
    for coefficient in (0.0, 0.5):
        torch.manual_seed(0)
        model = MixtralForCausalLM(MixtralConfig(vocab_size=VOCABULARY, **sizes, **experts))
        named = {"bf16": False, "gradient_checkpointing": False, "router_aux_loss_coef": coefficient}
        args = trainer_runs.trainer_arguments(trl.SFTConfig, str(tmp_path), max_steps=1, **named)
        trainer = PackedSFTTrainer(
            model,
            args,
            plan=plan_of_one(),
            train_dataset=datasets.Dataset.from_list(trainer_runs.samples()),
            processing_class=trainer_runs.tokenizer(),
        )
        trainer.train()
        losses.append(trainer.state.log_history[0]["loss"])
    # Near 2, the experts of a token, for routers that have learnt nothing.
    assert 1.5 < (losses[1] - losses[0]) / 0.5 < 2.5


def test_sft_refuses_masks_that_only_trl_reads() -> None:
    pytest.importorskip("trl")
    from packsim.trainers.trl import _check_labels

    _check_labels(["input_ids", "labels", "completion_mask"])
    with pytest.raises(ValueError, match="expected labels, got completion_mask alone from TRL"):
        _check_labels(["input_ids", "completion_mask"])


def test_sft_refuses_what_it_cannot_plan(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_list(trainer_runs.samples())
    with pytest.raises(ValueError) as caught:
        sft_trainer(tmp_path, dataset, max_length=None, packing=True, packing_strategy="wrapped")
    assert str(caught.value).splitlines() == [
        "args.max_length: expected the length of packs where no plan is given, got None",
        'args.packing_strategy: expected "bfd" where no plan is given, got "wrapped"; packsim.pack() and '
        "packsim.make_plan() have other strategies",
    ]
    with pytest.raises(ValueError) as caught:
        sft_trainer(
            tmp_path, dataset, plan=plan_of_one(), shuffle_dataset=True, loss_type="dft", eval_packing=True
        )
    assert str(caught.value).splitlines() == [
        'args.loss_type: expected "nll", got "dft"',
        "args.eval_packing: expected False or None, as TRL would let documents of packed rows see each other "
        "in evaluation, got True",
        "args.shuffle_dataset: expected False, because the plan goes by the place of samples, got True",
    ]


def test_sft_refuses_to_shuffle_what_is_to_be_sequential(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_list(trainer_runs.samples())
    with pytest.raises(ValueError, match='train_sampling_strategy: expected "random" where no plan is given'):
        sft_trainer(tmp_path, dataset, max_length=64, train_sampling_strategy="sequential")
    sft_trainer(tmp_path, dataset, plan=plan_of_one(), train_sampling_strategy="sequential")


def test_data_that_are_a_stream_are_refused_by_name(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    stream = datasets.Dataset.from_list(trainer_runs.samples()).to_iterable_dataset()
    expected = r"dataset: expected one with len\(\) and \[\], .*, got IterableDataset"
    with pytest.raises(ValueError, match=expected):
        sft_trainer(tmp_path, stream, max_length=64)
    args = trainer_runs.trainer_arguments(TrainingArguments, str(tmp_path))
    trainer = PackedTrainer(trainer_runs.small_llama(), args, plan=plan_of_one(), train_dataset=stream)
    with pytest.raises(ValueError, match=expected):
        trainer.train()
