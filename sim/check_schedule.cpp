#include "sim/check_schedule.hpp"

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
    if (plan.n_dp_ranks < 1 || plan.sp_degree < 1) {
      refuse("groups", i,
             "n_dp_ranks and sp_degree of at least 1, got " + std::to_string(plan.n_dp_ranks) + " and " +
                 std::to_string(plan.sp_degree));
    }
  }
}

}  // namespace

void check_schedule(const Schedule& schedule, std::span<const std::size_t> n_packs) {
  check_groups(schedule, n_packs.size());
  for (std::size_t i = 0; i < schedule.iterations.size(); ++i) {
    const Iteration& iteration = schedule.iterations[i];
    if (iteration.group >= n_packs.size()) {
      refuse("iterations", i,
             "a group below " + std::to_string(n_packs.size()) + ", got " + std::to_string(iteration.group));
    }
    const std::size_t end = std::size_t{iteration.first_pack} + iteration.n_packs;
    if (end > schedule.pack_order.size()) {
      refuse("iterations", i,
             "an end in pack_order of at most " + std::to_string(schedule.pack_order.size()) + ", got " +
                 std::to_string(end));
    }
    for (std::size_t position = iteration.first_pack; position < end; ++position) {
      if (schedule.pack_order[position] >= n_packs[iteration.group]) {
        refuse("pack_order", position,
               "a pack of group " + std::to_string(iteration.group) + " below " +
                   std::to_string(n_packs[iteration.group]) + ", got " +
                   std::to_string(schedule.pack_order[position]));
      }
    }
  }
}

}  // namespace packsim
