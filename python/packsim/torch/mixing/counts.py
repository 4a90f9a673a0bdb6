"""What became of the draws of a mixture."""

from __future__ import annotations

from dataclasses import dataclass

from packsim._mixture import Mixture
from packsim._mixture_place import MixturePlace


@dataclass(frozen=True)
class MixtureTrainingCounts:
    """Counts of all ranks together, behind the steps that the loop has had: draws = trained + held + dropped.

    Attributes
    ----------
    draws
        Each is of one sample.
    trained
        In the packs of the steps so far.
    held
        Drawn for later steps.
    dropped
        Over-long or empty, in no pack.
    truncated
        Trained, but cut short.
    trained_after_update
        Trained behind an update, and drawn before it.
    repeats
        Draws of samples that had been drawn before.
    never_drawn
        Samples of the data set that no draw was of.
    draws_of_arm, trained_of_arm, held_of_arm, dropped_of_arm
        The same of each arm.
    """

    draws: int
    trained: int
    held: int
    dropped: int
    truncated: int
    trained_after_update: int
    repeats: int
    never_drawn: int
    draws_of_arm: tuple[int, ...]
    trained_of_arm: tuple[int, ...]
    held_of_arm: tuple[int, ...]
    dropped_of_arm: tuple[int, ...]


def counts_at(place: MixturePlace, mixture: Mixture) -> MixtureTrainingCounts:
    """mixture: it may be at another place."""
    of_samples = mixture.counts_of(place.mixture)
    held = place.held_of_arm
    return MixtureTrainingCounts(
        draws=of_samples.n_draws,
        trained=sum(place.trained_of_arm),
        held=sum(held),
        dropped=sum(place.dropped_of_arm),
        truncated=place.truncated_samples,
        trained_after_update=place.trained_after_update,
        repeats=of_samples.repeats,
        never_drawn=of_samples.never_drawn,
        draws_of_arm=tuple(place.mixture["draws_of_arm"]),
        trained_of_arm=place.trained_of_arm,
        held_of_arm=held,
        dropped_of_arm=place.dropped_of_arm,
    )
