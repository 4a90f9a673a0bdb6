"""Mixtures whose shares move, in a PyTorch training loop: docs/mixing_in_training.md shows it."""

from packsim.torch.mixing.probe_passes import ProbePasses
from packsim.torch.mixing.rewards import HboRewards, ProbedMixture
from packsim.torch.mixing.scoring import ifd_scores, write_score_column

__all__ = [
    "HboRewards",
    "ProbePasses",
    "ProbedMixture",
    "ifd_scores",
    "write_score_column",
]
