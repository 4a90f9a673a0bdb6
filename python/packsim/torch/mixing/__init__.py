"""Training with a mixture whose shares move: docs/mixing_in_training.md shows it."""

from packsim._mixture_steps import MixtureMicroBatch as MixtureMicroBatch
from packsim.torch.mixing.counts import MixtureTrainingCounts as MixtureTrainingCounts
from packsim.torch.mixing.loader import MixtureLoader as MixtureLoader
from packsim.torch.mixing.probes import ProbePasses as ProbePasses
from packsim.torch.mixing.rewards import HboRewards as HboRewards
from packsim.torch.mixing.rewards import ProbedMixture as ProbedMixture
from packsim.torch.mixing.scoring import ifd_scores as ifd_scores
from packsim.torch.mixing.scoring import write_score_column as write_score_column
from packsim.torch.mixing.trace import write_trace as write_trace
