"""The data of a Trainer as packs have them: which columns, and whose labels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from packsim._loss_spans import IGNORE_INDEX
from packsim.trainers._packed_loss import forward_parameters

_N_COMPARED = 8  # samples that a collator is tried on
_LABEL_NAMES = ("label", "label_ids")  # which the collators of transformers read as labels


def kept_columns(trainer: Any) -> Any:
    """The train dataset without what the Trainer leaves out, too: columns that the model does not take."""
    dataset, args = trainer.train_dataset, trainer.args
    if not hasattr(dataset, "select_columns") or not args.remove_unused_columns:
        return dataset
    wanted = {
        "input_ids",
        "labels",
        *_LABEL_NAMES,
        *(args.label_names or ()),
        *forward_parameters(trainer.model),
    }
    return dataset.select_columns([name for name in dataset.column_names if name in wanted])


def check_collator(trainer: Any) -> None:
    """ValueError where the Trainer's collator makes other labels than the samples have: packs have those."""
    dataset = kept_columns(trainer)
    for index in range(min(_N_COMPARED, len(dataset) if hasattr(dataset, "__len__") else 0)):
        sample = dataset[index]
        if not isinstance(sample, Mapping):
            return
        try:
            made = trainer.data_collator([dict(sample)])
        except Exception as error:  # it may want columns that training does without
            warnings.warn(
                f"data_collator: not compared with packs: {type(error).__name__}: {error}", stacklevel=3
            )
            return
        if "labels" not in made:
            return
        expected = _with_loss(sample.get("labels", sample["input_ids"]))
        found = _with_loss(made["labels"])
        # The first token of a document has no loss.
        if found not in (expected, expected[1:]):
            raise ValueError(
                f"data_collator: expected the labels of the samples, as packs have them, got others for "
                f"sample {index}; give the data set a column of these labels"
            )


def _with_loss(labels: Any) -> list[int]:
    flat = np.asarray(labels).reshape(-1)
    found: list[int] = flat[flat != IGNORE_INDEX].tolist()
    return found
