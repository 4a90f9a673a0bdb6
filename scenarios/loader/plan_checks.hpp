#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/parallel_plan.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {

/// Reports a mistake at one of its keys.
void refuse_plan(JsonReader& reader, std::string_view key, const PlanMistake& mistake);

/// Reports a ZeRO stage in the parent's "parallelism" that is not the one beside it, in `said_in`.
void check_zero_stages(JsonReader& parent, JsonReader& said_in);

/// Reports what is wrong with the plan whatever its groups are, each mistake once and where it can
/// be put right: in "parallelism", or "training". Returns the keys that were refused. scenario: whose members
/// "parallelism" and "training" were read without a mistake.
std::vector<std::string> check_plan(JsonReader& scenario, const PlanContext& context);

}  // namespace packsim
