"""Cross-entropy in the forms that trainers use."""

from __future__ import annotations

import torch.nn.functional as functional
from torch import Tensor

from calibration.steps.training.pointwise import IGNORED_LABEL, Pointwise

FORMS = ("chunked", "fp32")


def cross_entropy_sum(form: str, logits: Tensor, labels: Tensor, pointwise: Pointwise) -> Tensor:
    """Sum over the rows that have a label. fp32: of a whole fp32 copy of the logits, as Hugging Face does."""
    if form == "chunked":
        return pointwise.chunked_cross_entropy(logits, labels)
    return functional.cross_entropy(logits.float(), labels, ignore_index=IGNORED_LABEL, reduction="sum")
