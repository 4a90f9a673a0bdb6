#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan_files/checks/checks.hpp"
#include "plan_files/checks/pack_uses.hpp"

namespace packsim {

/// Iterations as make_schedule() forms them of packs: each of one group, dealt to its ranks in turn, whole
/// but for the last one of a group, and as many as the policy for last iterations gives.
class DealtIterations {
 public:
  DealtIterations(const PlanTables& tables, PackUses& uses, Mistakes& mistakes);

  /// Counts what all epochs train. False, with one mistake, at the first that is wrong.
  bool are_right();

 private:
  // What an epoch has of a group.
  struct Group {
    std::int64_t gpus_per_pack = 0;
    std::int64_t n_ranks = 0;
    std::int64_t whole = 0;  // packs of an iteration
    std::int64_t rest = 0;   // packs of the iteration that is shorter; 0: none is
    std::int64_t n_iterations = 0;
    std::uint32_t most_uses = 1;  // of a pack
    // These count the epoch that is read.
    std::int64_t n_read = 0;
    std::int64_t n_read_packs = 0;
    bool has_short = false;
  };

  Group group_of(const PlanGroup& group) const;
  bool is_epoch(std::size_t epoch);
  bool is_iteration(std::size_t index);
  bool is_dealt(std::size_t placed_index, std::size_t place, std::uint16_t group_index, Group& group);
  bool is_complete(std::size_t epoch);
  bool is_in_order(const PlanPlacedPack& placed, std::size_t place, const Group& group) const;
  std::string as_policy() const;  // ", as last_iteration is drop"
  bool refuse(const std::string& table, std::size_t index, const std::string& expected, std::uint64_t got);

  const PlanTables& tables_;
  PackUses& uses_;
  Mistakes& mistakes_;
  std::vector<Group> groups_;
  std::size_t n_groups_trained_ = 0;  // in every epoch
  std::vector<std::uint16_t> read_;   // groups of the epoch that is read
  std::vector<bool> is_read_;         // [n_placed] an iteration that begins there has been read
  bool has_short_ = false;            // in the epoch that is read
};

}  // namespace packsim
