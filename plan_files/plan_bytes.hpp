#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "packing/pack.hpp"
#include "packing/schedule/schedule.hpp"
#include "packing/sequence_parallelism.hpp"
#include "plan_files/plan_facts.hpp"
#include "plan_files/plan_view.hpp"

namespace packsim {

/// A whole plan, to be written.
struct PlanContent {
  const Packing& packing;
  const Schedule& schedule;
  /// [n_groups]: how the GPUs of a pack divide it, as many as the schedule's group has. Empty: by Ulysses
  /// alone.
  std::span<const SequenceParallelism> sequence = {};
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

/// The bytes of the same plan with the loss weights of another normaliser. Throws std::invalid_argument for
/// an unknown one, and PlanFileError for a plan that restore_plan() refuses.
std::vector<std::byte> plan_bytes_with_normaliser(const PlanView& plan, std::string_view normaliser);

}  // namespace packsim
