#pragma once

#include <cstdint>
#include <optional>

#include "models/memory/peak_memory.hpp"
#include "models/parallel_plan.hpp"
#include "packing/sequence_parallelism.hpp"

namespace packsim {

/// How the packs of a group run, and whether they fit in memory.
struct PlannedGroup {
  std::int64_t capacity_tokens = 0;
  SequenceParallelism sequence = {};
  int gc_layers = 0;
  int zero_stage = 1;
  int n_dp_ranks = 1;
  std::optional<int> micro_batches_per_rank = {};  ///< in an iteration; none if iterations differ
  std::int64_t packs = 0;
  std::int64_t iterations = 0;   ///< over all epochs
  bool feasible = true;          ///< whether it may fit in memory
  bool fits_with_margin = true;  ///< whether it leaves as much free as searches have to (memory_margin())
  MemoryVerdict verdict = MemoryVerdict::fits;
  double memory_error = 0;       ///< relative error of the peak
  double peak_memory_bytes = 0;  ///< of one GPU, with the largest pack
  double gpu_memory_bytes = 0;
  std::optional<double> host_memory_bytes = {};  ///< of a node; none where the cluster does not say it
  MemoryPeak memory = {};
};

/// What a group needs of one kind of memory, and what there is of it.
struct MemoryNeed {
  double needed_bytes = 0;
  double room_bytes = 0;
  bool is_host = false;  ///< of a node, not of a GPU

  double excess_bytes() const { return needed_bytes - room_bytes; }
  double fraction() const { return needed_bytes / room_bytes; }
};

/// Of a GPU's memory; of its host's where the group lacks more of that.
inline MemoryNeed scarcest_memory(const PlannedGroup& group) {
  const MemoryNeed gpu{.needed_bytes = group.peak_memory_bytes, .room_bytes = group.gpu_memory_bytes};
  if (!group.host_memory_bytes) return gpu;
  const MemoryNeed host{
      .needed_bytes = group.memory.host_bytes, .room_bytes = *group.host_memory_bytes, .is_host = true};
  return host.excess_bytes() > 0 && host.fraction() > gpu.fraction() ? host : gpu;
}

/// The whole parallel plan of a group. plan: of the run.
inline ParallelPlan plan_of_group(ParallelPlan plan, const PlannedGroup& group) {
  plan.sequence = group.sequence;
  plan.gc_layers = group.gc_layers;
  plan.zero_stage = group.zero_stage;
  return plan;
}

}  // namespace packsim
