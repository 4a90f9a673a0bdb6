#include "sim/run/check_schedule.hpp"

#include <stdexcept>
#include <string>

namespace packsim {
namespace {

[[noreturn]] void refuse(const char* array, std::size_t index, const std::string& what) {
  throw std::invalid_argument(std::string(array) + "[" + std::to_string(index) + "]: expected " + what);
}

void check_groups(const Schedule& schedule, std::size_t n_batches) {
  if (n_batches != schedule.groups.size()) {
    throw std::invalid_argument("batches: expected " + std::to_string(schedule.groups.size()) +
                                " groups, as the schedule has, got " + std::to_string(n_batches));
  }
  for (std::size_t i = 0; i < schedule.groups.size(); ++i) {
    const GroupPlan& plan = schedule.groups[i];
    if (plan.n_dp_ranks < 1 || plan.gpus_per_pack < 1) {
      refuse("groups", i,
             "n_dp_ranks and gpus_per_pack of at least 1, got " + std::to_string(plan.n_dp_ranks) + " and " +
                 std::to_string(plan.gpus_per_pack));
    }
  }
}

void check_placed(const Schedule& schedule, std::span<const std::size_t> n_packs, std::size_t index) {
  const PlacedPack& placed = schedule.placed[index];
  if (placed.group >= n_packs.size()) {
    refuse("placed", index,
           "a group below " + std::to_string(n_packs.size()) + ", got " + std::to_string(placed.group));
  }
  if (placed.pack >= n_packs[placed.group]) {
    refuse("placed", index,
           "a pack of group " + std::to_string(placed.group) + " below " +
               std::to_string(n_packs[placed.group]) + ", got " + std::to_string(placed.pack));
  }
  const int degree = schedule.groups[placed.group].gpus_per_pack;
  const std::int64_t end = std::int64_t{placed.first_gpu} + degree;
  if (placed.first_gpu % static_cast<std::uint32_t>(degree) != 0 || end > schedule.n_gpus) {
    refuse("placed", index,
           "a first_gpu that is a multiple of " + std::to_string(degree) + " and at most " +
               std::to_string(schedule.n_gpus - degree) + ", got " + std::to_string(placed.first_gpu));
  }
}

}  // namespace

void check_schedule(const Schedule& schedule, std::span<const std::size_t> n_packs) {
  check_groups(schedule, n_packs.size());
  for (std::size_t i = 0; i < schedule.iterations.size(); ++i) {
    const Iteration& iteration = schedule.iterations[i];
    if (iteration.n_placed == 0) refuse("iterations", i, "packs, got none");
    const std::size_t end = std::size_t{iteration.first_placed} + iteration.n_placed;
    if (end > schedule.placed.size()) {
      refuse("iterations", i,
             "an end in placed of at most " + std::to_string(schedule.placed.size()) + ", got " +
                 std::to_string(end));
    }
  }
  for (std::size_t i = 0; i < schedule.placed.size(); ++i) check_placed(schedule, n_packs, i);
}

}  // namespace packsim
