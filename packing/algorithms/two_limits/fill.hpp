#pragma once

#include <cstdint>

#include "packing/strategy.hpp"

namespace packsim {

/// Fills packs that hold two limits one after another: each takes the sample that uses best what it has left,
/// until none fits. What a limit counts for is the square of what the samples that are left need of it, so
/// that packs fill the limit that binds and, where both bind, both: the dot-product rule of Panigrahy et al.
/// (Heuristics for vector bin packing, 2011), with samples of equal sizes placed together. most_items: of one
/// pack. Deterministic, with ties going to the larger extra size, then to data set order. O(N k log N) for k
/// different extra sizes, of which more than 32 are taken as 32 classes.
PackSet fill_two_limits(const PackProblem& problem, std::uint32_t most_items);

/// The same with three rules for how far the room of a pack may depart from what is left to pack; the fewest
/// packs of the three. It stops at packs that are within 0.5 % of what the sums of both sizes need.
PackSet fewest_packs_of_two_limits(const PackProblem& problem, std::uint32_t most_items);

}  // namespace packsim
