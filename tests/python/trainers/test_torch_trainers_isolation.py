"""Trainers refuse a model whose documents see each other, on the first batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import trainer_runs  # noqa: E402
from test_torch_trainers_loops import plan_of_one  # noqa: E402


class Leaky(torch.nn.Module):  # type: ignore[misc]
    """Every token gets a bit of the first one of its row."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(trainer_runs.VOCABULARY, 8)
        self.head = torch.nn.Linear(8, trainer_runs.VOCABULARY)

    def forward(self, input_ids: Any, position_ids: Any, cu_seqlens: Any) -> Any:
        del position_ids, cu_seqlens
        hidden = self.embedding(input_ids)
        return self.head(hidden + hidden[:, :1])


def in_trainer(folder: Path, model: Any) -> None:
    from transformers import TrainingArguments

    from packsim.trainers import PackedTrainer

    args = trainer_runs.trainer_arguments(TrainingArguments, str(folder), max_steps=1)
    PackedTrainer(model, args, plan=plan_of_one(), train_dataset=trainer_runs.samples()).train()


def in_accelerate(folder: Path, model: Any, **options: Any) -> None:
    accelerate = pytest.importorskip("accelerate")
    from packsim.trainers import packed_loader

    del folder
    accelerator = accelerate.Accelerator(cpu=True)
    loader = packed_loader(accelerator, plan_of_one(), trainer_runs.samples(), **options)
    for batch in loader:
        loader.loss(model, batch)


@pytest.mark.parametrize("train", [in_trainer, in_accelerate])
def test_a_model_that_mixes_documents_is_refused(train: Callable[[Path, Any], None], tmp_path: Path) -> None:
    from packsim.torch.isolation import IsolationError

    with pytest.raises(IsolationError, match="document"):
        train(tmp_path, Leaky())


def test_the_check_runs_once_and_not_where_it_is_turned_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from packsim.trainers import _packed_loss

    calls: list[Any] = []
    monkeypatch.setattr(_packed_loss, "check_isolation", lambda *of: calls.append(of))
    model = trainer_runs.small_llama()
    in_accelerate(tmp_path, model)
    assert [of[0] for of in calls] == [model]
    in_accelerate(tmp_path, model, check_isolation=False)
    assert len(calls) == 1
