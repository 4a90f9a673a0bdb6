#include "plan_files/checks/dealt_iterations.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace packsim {

DealtIterations::DealtIterations(const PlanTables& tables, PackUses& uses, Mistakes& mistakes)
    : tables_(tables), uses_(uses), mistakes_(mistakes), is_read_(tables.placed.size()) {
  for (const PlanGroup& group : tables.groups) {
    groups_.push_back(group_of(group));
    n_groups_trained_ += groups_.back().n_iterations > 0 ? 1 : 0;
  }
}

DealtIterations::Group DealtIterations::group_of(const PlanGroup& group) const {
  Group result;
  result.gpus_per_pack = static_cast<std::int64_t>(group.gpus_per_pack());
  result.n_ranks = tables_.facts.n_gpus / result.gpus_per_pack;
  result.whole = result.n_ranks * group.micro_batches_per_rank;
  const std::int64_t n_packs = group.n_packs;
  const std::int64_t rest = n_packs % result.whole;
  result.n_iterations = n_packs / result.whole;
  if (rest == 0 || tables_.facts.last_iteration == LastIteration::drop) return result;
  ++result.n_iterations;
  if (tables_.facts.last_iteration == LastIteration::shorten) {
    result.rest = rest;
  } else {
    const std::int64_t n_trained = result.n_iterations * result.whole;
    result.most_uses = static_cast<std::uint32_t>(std::min<std::int64_t>(
        (n_trained + n_packs - 1) / n_packs, std::numeric_limits<std::uint32_t>::max()));
  }
  return result;
}

std::string DealtIterations::as_policy() const {
  return ", as last_iteration is " +
         std::string(policy_name(kLastIterationNames, tables_.facts.last_iteration));
}

bool DealtIterations::refuse(const std::string& table, std::size_t index, const std::string& expected,
                             std::uint64_t got) {
  mistakes_.add(table, index, expected, got);
  return false;
}

bool DealtIterations::are_right() {
  for (std::size_t epoch = 0; epoch < static_cast<std::size_t>(tables_.facts.epochs); ++epoch) {
    if (!is_epoch(epoch)) return false;
  }
  return true;
}

bool DealtIterations::is_epoch(std::size_t epoch) {
  const auto n = static_cast<std::size_t>(tables_.iterations_per_epoch());
  uses_.begin_epoch();
  has_short_ = false;
  for (const std::uint16_t group : read_) {
    groups_[group].n_read = 0;
    groups_[group].n_read_packs = 0;
    groups_[group].has_short = false;
  }
  read_.clear();
  for (std::size_t i = epoch * n; i < (epoch + 1) * n; ++i) {
    if (!is_iteration(i)) return false;
  }
  return is_complete(epoch);
}

bool DealtIterations::is_iteration(std::size_t index) {
  const PlanIteration& iteration = tables_.iterations[index];
  if (is_read_[iteration.first_placed])
    return refuse("iterations", index, "one that no other place of the plan has", iteration.first_placed);
  is_read_[iteration.first_placed] = true;
  const std::uint16_t group_index = tables_.placed[iteration.first_placed].group;
  Group& group = groups_[group_index];
  const bool is_short = iteration.n_placed == group.rest && !group.has_short;
  if (iteration.n_placed != group.whole && !is_short)
    return refuse("iterations.n_placed", index,
                  std::to_string(group.whole) + " packs, a whole iteration of group " +
                      std::to_string(group_index) +
                      (group.rest > 0 ? ", or " + std::to_string(group.rest) : "") + as_policy(),
                  iteration.n_placed);
  if (has_short_ && !is_short)
    return refuse("iterations", index, "whole iterations before shorter ones", iteration.first_placed);
  group.has_short |= is_short;
  has_short_ |= is_short;
  if (group.n_read++ == 0) read_.push_back(group_index);
  for (std::size_t place = 0; place < iteration.n_placed; ++place) {
    if (!is_dealt(iteration.first_placed + place, place, group_index, group)) return false;
  }
  return true;
}

bool DealtIterations::is_dealt(std::size_t placed_index, std::size_t place, std::uint16_t group_index,
                               Group& group) {
  const PlanPlacedPack& placed = tables_.placed[placed_index];
  if (placed.group != group_index)
    return refuse("placed.group", placed_index, std::to_string(group_index) + ", that of the iteration",
                  placed.group);
  const auto n_ranks = static_cast<std::size_t>(group.n_ranks);
  const std::size_t first_gpu = place % n_ranks * static_cast<std::size_t>(group.gpus_per_pack);
  if (placed.first_gpu != first_gpu)
    return refuse("placed.first_gpu", placed_index,
                  std::to_string(first_gpu) + ", as packs are dealt to ranks in turn", placed.first_gpu);
  if (placed.round != place / n_ranks)
    return refuse("placed.round", placed_index,
                  std::to_string(place / n_ranks) + ", as packs are dealt to ranks in turn", placed.round);
  if (placed.flags != 0)
    return refuse("placed.flags", placed_index, "0, as ranks do not wait for each other", placed.flags);
  if (!is_in_order(placed, place, group)) {
    return refuse("placed.pack", placed_index,
                  "packs in the order " + std::string(policy_name(kPackOrderNames, tables_.facts.order)),
                  placed.pack);
  }
  ++group.n_read_packs;
  if (uses_.use(tables_.pack_index(placed)) > group.most_uses) {
    return refuse(
        "placed.pack", placed_index,
        "a pack that the epoch trains at most " + std::to_string(group.most_uses) + " times" + as_policy(),
        placed.pack);
  }
  return true;
}

bool DealtIterations::is_in_order(const PlanPlacedPack& placed, std::size_t place, const Group& group) const {
  const std::int64_t n_packs = tables_.groups[placed.group].n_packs;
  if (tables_.facts.order == PackOrder::as_packed) return placed.pack == group.n_read_packs % n_packs;
  if (tables_.facts.order != PackOrder::neighbours) return true;
  if (place == 0) return placed.pack % group.whole == 0;
  return placed.pack == ((&placed)[-1].pack + std::int64_t{1}) % n_packs;
}

bool DealtIterations::is_complete(std::size_t epoch) {
  const std::string place = "iterations of epoch " + std::to_string(epoch);
  for (const std::uint16_t index : read_) {
    const Group& group = groups_[index];
    if (group.n_read == group.n_iterations) continue;
    mistakes_.add(place,
                  std::to_string(group.n_iterations) + " of group " + std::to_string(index) + as_policy(),
                  std::to_string(group.n_read));
    return false;
  }
  if (read_.size() != n_groups_trained_) {
    mistakes_.add(place, "some of " + std::to_string(n_groups_trained_) + " groups",
                  "of " + std::to_string(read_.size()));
    return false;
  }
  const std::int64_t n_dropped = uses_.end_epoch();
  if (n_dropped == 0 || tables_.facts.last_iteration == LastIteration::drop) return true;
  mistakes_.add(place, "every pack" + as_policy(), std::to_string(n_dropped) + " packs less");
  return false;
}

}  // namespace packsim
