#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "packing/pack.hpp"
#include "packing/schedule.hpp"
#include "plan_files/plan_facts.hpp"

namespace packsim {

/// How a group of packs runs, beyond what its schedule says.
struct PlanDegrees {
  int sp_degree = 1;
  int cp_degree = 1;
};

/// A whole plan, to be written.
struct PlanContent {
  const Packing& packing;
  const Schedule& schedule;
  /// [n_groups]; their product is the schedule's SP degree of the group. Empty: cp_degree is 1.
  std::span<const PlanDegrees> degrees = {};
  /// [n_items], or empty: all tokens but the first of an item.
  std::span<const std::int32_t> loss_tokens = {};
  /// counts, n_gpus, epochs and what the schedule counts are taken from packing and schedule; normaliser
  /// names the weights.
  PlanFacts facts = {};
};

/// The bytes of a plan file (docs/plan_files.md). The same plan gives the same bytes.
///
/// Throws std::invalid_argument for loss tokens or a normaliser that cannot be.
std::vector<std::byte> plan_bytes(const PlanContent& content);

}  // namespace packsim
