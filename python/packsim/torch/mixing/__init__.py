"""Training with a mixture whose shares move: docs/mixing_in_training.md shows it."""

from packsim._mixture_steps import MixtureMicroBatch
from packsim.torch.mixing.counts import MixtureTrainingCounts
from packsim.torch.mixing.loader import MixtureLoader
from packsim.torch.mixing.probe_passes import ProbePasses
from packsim.torch.mixing.rewards import HboRewards, ProbedMixture
from packsim.torch.mixing.scoring import ifd_scores, write_score_column
from packsim.torch.mixing.trace import write_trace

__all__ = [
    "HboRewards",
    "MixtureLoader",
    "MixtureMicroBatch",
    "MixtureTrainingCounts",
    "ProbePasses",
    "ProbedMixture",
    "ifd_scores",
    "write_score_column",
    "write_trace",
]
