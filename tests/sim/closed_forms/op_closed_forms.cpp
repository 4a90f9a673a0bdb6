#include "tests/sim/closed_forms/op_closed_forms.hpp"

#include <algorithm>

namespace packsim {

SimTime ring_all_reduce_time(std::int64_t n_ranks, SimTime chunk) {
  return {2 * (n_ranks - 1) * chunk.ns};
}

SimTime binary_tree_time(std::int64_t n_levels, SimTime send) {
  return {2 * (n_levels - 1) * send.ns};
}

SimTime all_to_all_time(std::int64_t n_ranks, SimTime message) {
  return {(n_ranks - 1) * message.ns};
}

SimTime pipeline_time(std::int64_t n_stages, std::int64_t n_micro_batches, std::int64_t n_chunks,
                      SimTime forward, SimTime backward) {
  return {(n_micro_batches * n_chunks + n_stages - 1) * (forward + backward).ns};
}

SimTime prefetch_time(std::int64_t n_layers, SimTime gather, SimTime compute) {
  return gather + SimTime{(n_layers - 1) * std::max(gather, compute).ns} + compute;
}

std::vector<SimTime> shared_link_ends(std::span<const SimTime> alone) {
  // By the time that one ends, each has had as much of the link as it, or all that it wanted.
  std::vector<SimTime> ends;
  for (const SimTime one : alone) {
    SimTime end;
    for (const SimTime other : alone) end += std::min(one, other);
    ends.push_back(end);
  }
  return ends;
}

SimTime slowed_compute_time(SimTime compute, SimTime transfer, std::int64_t slow_down) {
  if (transfer.ns >= compute.ns * slow_down) return {compute.ns * slow_down};
  return {compute.ns + transfer.ns - transfer.ns / slow_down};
}

}  // namespace packsim
