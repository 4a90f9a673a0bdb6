"""Packs in a PyTorch training loop."""

from packsim.torch.stream_dataset import StreamDataset, StreamPack, merge_stream_states
from packsim.torch.stream_loader import StreamLoader

__all__ = [
    "StreamDataset",
    "StreamLoader",
    "StreamPack",
    "merge_stream_states",
]
