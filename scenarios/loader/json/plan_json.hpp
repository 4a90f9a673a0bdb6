#pragma once

#include <initializer_list>

#include "models/plan/plan_key.hpp"
#include "scenarios/loader/json/json_text.hpp"

namespace packsim {

/// The keys of these parts as a scenario writes them: all that it may say, defaults too.
Json plan_json(const ParallelPlan& plan, std::initializer_list<PlanPart> parts);

/// The plan as "parallelism" of a scenario or a strategy: with the same "groups" it is the same plan.
Json parallelism_json(const ParallelPlan& plan);

/// A group as an entry of "groups".
Json group_json(std::int64_t capacity_tokens, const ParallelPlan& plan);

}  // namespace packsim
