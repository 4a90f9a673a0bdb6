#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/parallel_plan.hpp"
#include "packing/options/option.hpp"

namespace packsim {

/// The value of a plan's key as files give it: an OptionValue, or a list of integers or words.
using PlanValue =
    std::variant<bool, std::int64_t, double, std::string, std::vector<int>, std::vector<std::string>>;

/// Where a scenario says a key.
enum class PlanPart {
  cluster,      ///< nowhere: the cluster decides
  training,     ///< in "training" or a strategy, or in their "parallelism"
  parallelism,  ///< in "parallelism" of the scenario or of a strategy
  group,        ///< in a strategy, or in an entry of its "groups"
};

/// Whether a framework profile says how its framework does it (ExecutionStyle).
enum class SaidByProfile {
  never,
  may,  ///< profiles leave out the default
  always,
};

/// One key of a parallel plan: all that anybody needs to know to read, check, write, show and document it.
struct PlanKey {
  /// Name, text, type and range; the default is that of default_plan(). Where the value may be a list, type
  /// and range are those of an element.
  Option option = {};
  PlanPart part = PlanPart::parallelism;
  SaidByProfile profile = SaidByProfile::never;
  bool is_degree = false;    ///< whether short texts of a group say it
  bool is_searched = false;  ///< whether a search for a plan tries several values
  bool is_list = false;
  /// Words that a list may have; null where words come alone.
  std::vector<std::string_view> (*list_words)() = nullptr;
  bool may_be_empty = true;  ///< lists
  /// What a text of a plan says of the key, with the value in place of "{}".
  std::string_view said = {};
  std::string_view said_at_default = {};  ///< the same of the default, which mostly goes without saying
  std::string_view default_text = {};     ///< what docs say of the default; empty: its value
  PlanValue (*get)(const ParallelPlan& plan) = nullptr;
  /// value: one that get() may return, or a list that stands for such a one.
  void (*set)(ParallelPlan& plan, const PlanValue& value) = nullptr;

  std::string_view name() const { return option.name; }
};

/// The table of all keys, in the order in which everything shows them.
std::span<const PlanKey> plan_keys();

/// The names of the keys that a scenario says there.
std::vector<std::string> plan_key_names(PlanPart part);

/// The key of this name; null if no plan has it.
const PlanKey* find_plan_key(std::string_view name);

/// The plan of which nothing is said, not even by a framework profile. Defaults are its values.
ParallelPlan default_plan();
PlanValue default_value(const PlanKey& key);

/// What the key may be: "integer in 1..4096", "one of full, selective, or an array of mlp, moe".
std::string expected_of(const PlanKey& key);

/// What is between the elements of a list in a text.
inline constexpr std::string_view kBetweenElements = " + ";

/// The value as people read it; the elements of a list are joined by kBetweenElements.
std::string plan_value_text(const PlanValue& value);

}  // namespace packsim
