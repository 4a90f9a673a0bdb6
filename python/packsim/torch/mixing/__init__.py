"""Mixtures whose shares move, in a PyTorch training loop: docs/mixing_in_training.md shows it."""

from packsim.torch.mixing.probe_passes import ProbePasses
from packsim.torch.mixing.rewards import HboRewards, ProbedMixture

__all__ = ["HboRewards", "ProbePasses", "ProbedMixture"]
