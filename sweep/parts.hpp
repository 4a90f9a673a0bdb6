#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sweep/grid.hpp"

namespace packsim {

/// The settings of a job that decide prices. Those of two jobs with the same prices may differ in others.
std::vector<std::string> price_settings(const SweepJob& job);

/// Parts of about as many points, for processes that do not share what they compute: in each, the indices of
/// its jobs. Jobs whose settings other than price_settings() are the same, and so most of their packs, are
/// next to each other: they are in one part, or in parts that follow each other. No part is empty, so there
/// are fewer than n_parts where there are fewer jobs.
std::vector<std::vector<std::size_t>> parts_of(std::span<const SweepJob> jobs, std::size_t n_parts);

}  // namespace packsim
