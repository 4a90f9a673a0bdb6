"""Random packs on the device."""

from __future__ import annotations

import torch

from calibration.steps.documents import Documents
from calibration.steps.training.attention import DocumentLayout
from calibration.steps.training.model import PackPart
from calibration.steps.training.pointwise import IGNORED_LABEL


def label_count(documents: Documents) -> int:
    """Tokens that have a next one in their document."""
    return documents.tokens - sum(n_documents for n_documents, _ in documents.runs)


def make_part(
    documents: Documents, vocab_size: int, sp: int, sp_rank: int, seed: int, device: torch.device
) -> PackPart:
    """A rank's part of a pack of random tokens, the same pack on all ranks of one seed.

    The pack is padded to a multiple of sp by a document of its own that has no labels.
    """
    padded = documents.padded_to(sp)
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(vocab_size, (padded.tokens,), generator=generator)
    lengths = torch.tensor(padded.lengths_tokens)
    ends = lengths.cumsum(0)
    positions = torch.arange(padded.tokens) - (ends - lengths).repeat_interleave(lengths)
    labels = tokens.roll(-1)
    labels[ends - 1] = IGNORED_LABEL
    labels[documents.tokens :] = IGNORED_LABEL
    part = slice(sp_rank * padded.tokens // sp, (sp_rank + 1) * padded.tokens // sp)
    on_device = [values[part].to(device) for values in (tokens, labels, positions)]
    return PackPart(*on_device, layout=DocumentLayout.of(padded, device))
