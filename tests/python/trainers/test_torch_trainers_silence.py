"""What the Trainer would do and a packed one does not is refused or said, never left out without a word."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
datasets = pytest.importorskip("datasets")

import trainer_runs  # noqa: E402
from test_torch_trainers_loops import plan_of_one  # noqa: E402
from transformers import Trainer, TrainingArguments  # noqa: E402

from packsim.torch import PackCollator  # noqa: E402
from packsim.trainers import PackedTrainer, PackedTrainerMixin  # noqa: E402


def made(folder: Path, dataset: Any = None, of: Any = PackedTrainer, model: Any = None, **more: Any) -> Any:
    own = {name: more.pop(name) for name in ("data_collator", "pack_collator") if name in more}
    args = trainer_runs.trainer_arguments(TrainingArguments, str(folder), **{"max_steps": 1, **more})
    model = trainer_runs.small_llama() if model is None else model
    return of(model, args, plan=plan_of_one(), train_dataset=dataset or trainer_runs.samples(), **own)


def dataset_with(**columns: Any) -> Any:
    rows = trainer_runs.samples()
    return datasets.Dataset.from_list(
        [row | {name: make(row) for name, make in columns.items()} for row in rows]
    )


def test_arguments_that_change_with_packing_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError) as caught:
        made(tmp_path, neftune_noise_alpha=5.0, dataloader_drop_last=True)
    assert str(caught.value).splitlines() == [
        "args.neftune_noise_alpha: expected None, because its noise depends on the length of a row, which "
        "packing changes, got 5.0",
        "args.dataloader_drop_last: expected False, because the plan says which packs are trained, got True",
    ]


class Distilling(Trainer):  # type: ignore[misc]
    def compute_loss(self, *arguments: Any, **named: Any) -> Any:
        raise AssertionError("not called")

    def _get_train_sampler(self, *arguments: Any) -> Any:
        raise AssertionError("not called")


def test_a_trainer_with_a_loss_of_its_own_is_refused_behind_the_mixin_alone(tmp_path: Path) -> None:
    class Behind(PackedTrainerMixin, Distilling):
        pass

    class InFront(PackedTrainer):
        def compute_loss(self, model: Any, inputs: Any, *more: Any, **named: Any) -> Any:
            return super().compute_loss(model, inputs, *more, **named) * 2

    with pytest.raises(ValueError) as caught:
        made(tmp_path, of=Behind)
    assert str(caught.value).splitlines() == [
        "Distilling.compute_loss: expected that of Trainer, SFTTrainer or AxolotlTrainer, because the plan's "
        "weights make the loss, got another; a class in front of the mixin may have one",
        "Distilling._get_train_sampler: expected that of Trainer, because the plan says what is trained "
        "when, got another",
    ]
    twice, once = made(tmp_path, of=InFront), made(tmp_path)
    twice.train()
    once.train()
    begin = trainer_runs.flat(trainer_runs.small_llama())
    steps = [trainer_runs.flat(trainer.model) - begin for trainer in (twice, once)]
    assert float((steps[0] - 2 * steps[1]).norm() / steps[1].norm()) < 1e-5


def test_a_collator_whose_labels_are_others_is_refused(tmp_path: Path) -> None:
    def of_the_last_token(samples: list[Any]) -> Any:
        (sample,) = samples
        labels = [-100] * (len(sample["input_ids"]) - 1) + sample["input_ids"][-1:]
        return {"input_ids": [sample["input_ids"]], "labels": [labels]}

    with pytest.raises(
        ValueError, match="data_collator: expected the labels of the samples, .* for sample 0"
    ):
        made(tmp_path, data_collator=of_the_last_token)
    made(tmp_path, data_collator=transformers.default_data_collator)
    made(tmp_path, data_collator=transformers.DataCollatorWithFlattening())
    seq2seq = transformers.DataCollatorForSeq2Seq(trainer_runs.tokenizer(), pad_to_multiple_of=8)
    made(tmp_path, data_collator=seq2seq)
    with pytest.warns(UserWarning, match="data_collator: not compared with packs: KeyError: 'images'"):
        made(tmp_path, data_collator=lambda samples: samples[0]["images"])


def test_padding_in_the_data_is_refused(tmp_path: Path) -> None:
    dataset = dataset_with(attention_mask=lambda row: [1] * (len(row["input_ids"]) - 1) + [0])
    with pytest.raises(ValueError, match="column 'attention_mask': expected .* ones"):
        made(tmp_path, dataset).train()
    made(tmp_path, dataset_with(attention_mask=lambda row: [1] * len(row["input_ids"]))).train()


@pytest.mark.parametrize("named", [{}, {"label_names": ["targets"]}])
def test_labels_by_another_name_are_not_left_out(named: Any, tmp_path: Path) -> None:
    name = named.get("label_names", ["label_ids"])[0]
    dataset = dataset_with(**{name: lambda row: row["labels"]}).remove_columns("labels")
    with pytest.raises(ValueError, match=f"column '{name}': expected a rule for it"):
        made(tmp_path, dataset, **named).train()


def test_columns_are_kept_where_the_trainer_keeps_them(tmp_path: Path) -> None:
    dataset = dataset_with(reward=lambda row: 1.0)
    made(tmp_path, dataset).train()
    with pytest.raises(ValueError, match="column 'reward': expected a rule for it"):
        made(tmp_path, dataset, remove_unused_columns=False).train()


class WithTypes(transformers.LlamaForCausalLM):  # type: ignore[misc, name-defined]
    """Adds a vector to tokens of type 1, as models of images do."""

    def forward(self, input_ids: Any, token_type_ids: Any = None, **named: Any) -> Any:
        embeddings = self.get_input_embeddings()(input_ids)
        if token_type_ids is not None:
            embeddings = embeddings + token_type_ids[..., None]
        return super().forward(inputs_embeds=embeddings, **named)


def test_a_column_that_the_model_takes_reaches_it(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = WithTypes(trainer_runs.small_llama().config).to(torch.float64)
    dataset = dataset_with(token_type_ids=lambda row: [index % 2 for index in range(len(row["input_ids"]))])
    trainer = made(tmp_path, dataset, model=model, max_grad_norm=1e9)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        batches = next(iter(trainer.get_train_dataloader()))
    found = sum(float(trainer.compute_loss(model, batch)) for batch in batches)
    assert batches[0]["token_type_ids"].sum() > 0
    expected = sum(
        float(
            torch.nn.functional.cross_entropy(
                model(
                    batch["input_ids"],
                    batch["token_type_ids"],
                    position_ids=batch["position_ids"],
                    use_cache=False,
                ).logits[0, :-1],
                batch["labels"][0, 1:],
                reduction="none",
                ignore_index=-100,
            )
            @ batch["loss_weights"][0, 1:].double()
        )
        for batch in batches
    )
    assert found == pytest.approx(expected, rel=1e-6)
    without = [
        batch.with_values({**batch, "token_type_ids": 0 * batch["token_type_ids"]}) for batch in batches
    ]
    assert abs(sum(float(trainer.compute_loss(model, batch)) for batch in without) - expected) > 1e-4


def test_columns_that_nobody_reads_are_named_once(tmp_path: Path) -> None:
    dataset = dataset_with(reward=lambda row: 1.0, patches=lambda row: [[1.0]])
    collator = PackCollator(plan_of_one(), columns={"reward": "stack", "patches": "concatenate_documents"})
    trainer = made(tmp_path, dataset, pack_collator=collator, max_steps=2)
    with pytest.warns(UserWarning, match="neither loss nor model reads: patches, reward$") as caught:
        trainer.train()
    assert sum("neither loss" in str(one.message) for one in caught) == 1
