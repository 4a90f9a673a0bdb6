"""Parts in memory or behind an iterator: Python samples, Hugging Face data sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from packsim.lengths.arrow_columns import Selection, schema_mistakes
from packsim.lengths.parts import Chunk, IsWanted, ranges
from packsim.lengths.rows import SampleRows, TableRows


@dataclass(frozen=True)
class SequencePart:
    """Samples that can be reached at random."""

    samples: Sequence[Any]
    place: str

    @property
    def n_samples(self) -> int | None:
        return len(self.samples)

    def mistakes(self) -> list[str]:
        return []

    def identity(self) -> str | None:
        return None

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        for index, first_row, end_row in ranges(len(self.samples), chunk_samples):
            if not is_wanted(index):
                yield index, None
                continue
            samples = [self.samples[row] for row in range(first_row, end_row)]
            yield index, SampleRows(self.place, first_row, samples)


@dataclass(frozen=True)
class IterablePart:
    """Samples one after another; what is not wanted is still gone through."""

    samples: Iterable[Any]
    place: str
    n_samples: int | None = None

    def mistakes(self) -> list[str]:
        return []

    def identity(self) -> str | None:
        return None

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        iterator = iter(self.samples)
        index = 0
        while samples := list(islice(iterator, chunk_samples)):
            rows = SampleRows(self.place, index * chunk_samples, samples) if is_wanted(index) else None
            yield index, rows
            index += 1


@dataclass(frozen=True)
class DatasetPart:
    """A `datasets.Dataset`: read as Arrow, or row by row where it has a transform of its own."""

    dataset: Any
    selection: Selection
    place: str = "dataset"

    @property
    def n_samples(self) -> int | None:
        return len(self.dataset)

    def _has_transform(self) -> bool:
        return bool(self.dataset.format.get("type") == "custom")

    def mistakes(self) -> list[str]:
        if self._has_transform():
            return []
        return schema_mistakes(self.dataset.features.arrow_schema, self.selection, self.place)

    def identity(self) -> str | None:
        # The fingerprint knows the data and what was done to them, but not what a transform does on reading.
        return None if self._has_transform() else f"datasets {self.dataset._fingerprint}"

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        has_transform = self._has_transform()
        dataset = self.dataset
        if not has_transform:
            dataset = dataset.with_format("arrow", columns=self.selection.columns)
        for index, first_row, end_row in ranges(len(self.dataset), chunk_samples):
            if not is_wanted(index):
                yield index, None
            elif has_transform:
                samples = [dataset[row] for row in range(first_row, end_row)]
                yield index, SampleRows(self.place, first_row, samples)
            else:
                yield index, TableRows(self.place, first_row, dataset[first_row:end_row])
