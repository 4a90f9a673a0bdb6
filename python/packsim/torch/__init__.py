"""Plans and packs in a PyTorch training loop: docs/production.md and docs/streaming.md show them."""

from packsim._rank_schedule import RankSchedule, Turn
from packsim.torch.checkpointed_layers import CheckpointedLayers
from packsim.torch.collator import CollatorRules, PackCollator
from packsim.torch.columns import COLUMN_RULES, Column
from packsim.torch.dataset import FetchedPack, PlanDataset
from packsim.torch.isolation import IsolationError, attention_inputs, check_isolation
from packsim.torch.loader import PlanLoader
from packsim.torch.loss import weighted_loss, weighted_token_loss
from packsim.torch.packed_batch import PackedBatch
from packsim.torch.sampler import PlanSampler
from packsim.torch.sequence_groups import SequenceGroups
from packsim.torch.stream_collator import StreamCollator, StreamMicroBatch
from packsim.torch.stream_dataset import SourceCounts, StreamDataset, merge_stream_states
from packsim.torch.stream_loader import StreamLoader
from packsim.torch.stream_pack import StreamPack

__all__ = [
    "COLUMN_RULES",
    "CheckpointedLayers",
    "CollatorRules",
    "Column",
    "FetchedPack",
    "IsolationError",
    "PackCollator",
    "PackedBatch",
    "PlanDataset",
    "PlanLoader",
    "PlanSampler",
    "RankSchedule",
    "SequenceGroups",
    "SourceCounts",
    "StreamCollator",
    "StreamDataset",
    "StreamLoader",
    "StreamMicroBatch",
    "StreamPack",
    "Turn",
    "attention_inputs",
    "check_isolation",
    "merge_stream_states",
    "weighted_loss",
    "weighted_token_loss",
]
