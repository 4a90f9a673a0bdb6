"""Parts in memory or behind an iterator: Python samples, Hugging Face data sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from packsim.lengths.arrow_columns import Selection, schema_mistakes
from packsim.lengths.parts import Chunk, IsWanted, Part, at_random, in_turn
from packsim.lengths.rows import Rows, SampleRows, TableRows


@dataclass(frozen=True)
class SequencePart(Part):
    """Samples that can be reached at random."""

    samples: Sequence[Any]
    place: str

    @property
    def n_samples(self) -> int | None:
        return len(self.samples)

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        return at_random(len(self.samples), chunk_samples, is_wanted, self._rows)

    def _rows(self, first_row: int, end_row: int) -> Rows:
        return SampleRows(self.place, first_row, [self.samples[row] for row in range(first_row, end_row)])


@dataclass(frozen=True)
class IterablePart(Part):
    """Samples one after another; what is not wanted is still gone through."""

    samples: Iterable[Any]
    place: str
    n_samples: int | None = None

    def chunks(self, chunk_samples: int, is_wanted: IsWanted) -> Iterator[Chunk]:
        return in_turn(self.samples, chunk_samples, is_wanted, partial(SampleRows, self.place))


@dataclass(frozen=True)
class DatasetPart(Part):
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
        if self._has_transform():
            return SequencePart(self.dataset, self.place).chunks(chunk_samples, is_wanted)
        dataset = self.dataset.with_format("arrow", columns=self.selection.columns)

        def rows(first_row: int, end_row: int) -> Rows:
            return TableRows(self.place, first_row, dataset[first_row:end_row])

        return at_random(len(dataset), chunk_samples, is_wanted, rows)
