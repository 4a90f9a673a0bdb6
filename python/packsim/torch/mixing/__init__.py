"""Training with a mixture whose shares move: docs/mixing_in_training.md shows it."""

from packsim._mixture_steps import MixtureMicroBatch
from packsim.torch.mixing.counts import MixtureTrainingCounts
from packsim.torch.mixing.loader import MixtureLoader

__all__ = ["MixtureLoader", "MixtureMicroBatch", "MixtureTrainingCounts"]
