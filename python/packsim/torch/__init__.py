"""Plans and packs in a PyTorch training loop: docs/production.md and docs/streaming.md show them."""

from packsim._rank_schedule import RankSchedule as RankSchedule
from packsim._rank_schedule import Turn as Turn
from packsim.torch.checkpointed_layers import CheckpointedLayers as CheckpointedLayers
from packsim.torch.collator import CollatorRules as CollatorRules
from packsim.torch.collator import PackCollator as PackCollator
from packsim.torch.columns import COLUMN_RULES as COLUMN_RULES
from packsim.torch.columns import Column as Column
from packsim.torch.dataset import FetchedPack as FetchedPack
from packsim.torch.dataset import PlanDataset as PlanDataset
from packsim.torch.isolation import IsolationError as IsolationError
from packsim.torch.isolation import attention_inputs as attention_inputs
from packsim.torch.isolation import check_isolation as check_isolation
from packsim.torch.loader import PlanLoader as PlanLoader
from packsim.torch.loss import weighted_loss as weighted_loss
from packsim.torch.loss import weighted_token_loss as weighted_token_loss
from packsim.torch.packed_batch import PackedBatch as PackedBatch
from packsim.torch.sampler import PlanSampler as PlanSampler
from packsim.torch.sequence_groups import SequenceGroups as SequenceGroups
from packsim.torch.stream_collator import StreamCollator as StreamCollator
from packsim.torch.stream_collator import StreamMicroBatch as StreamMicroBatch
from packsim.torch.stream_collator import StreamPack as StreamPack
from packsim.torch.stream_dataset import SourceCounts as SourceCounts
from packsim.torch.stream_dataset import StreamDataset as StreamDataset
from packsim.torch.stream_dataset import merge_stream_states as merge_stream_states
from packsim.torch.stream_loader import StreamLoader as StreamLoader
