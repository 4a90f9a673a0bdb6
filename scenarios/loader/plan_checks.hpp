#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/parallel_plan.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {

/// One of plan_mistakes(), taken apart.
struct PlanMistake {
  std::vector<std::string> keys;  ///< of the plan, several where they only fail together
  std::string expected;           ///< of several keys "tp_degree x sp_degree to be a divisor of ..."
  std::string got;

  bool has_any_of(const std::vector<std::string>& some_keys) const;
};
std::vector<PlanMistake> taken_apart(const std::vector<std::string>& mistakes);

/// Reports a mistake at a key.
void refuse_plan(JsonReader& reader, std::string_view key, const PlanMistake& mistake);

/// Reports what is wrong with the machine's plan whatever its groups are, each mistake once and where it can
/// be put right: in "parallelism", or "training". Returns the keys that were refused. scenario: whose members
/// "parallelism" and "training" were read without a mistake.
std::vector<std::string> check_plan(JsonReader& scenario, const Machine& machine);

}  // namespace packsim
