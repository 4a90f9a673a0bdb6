// The table of a plan's keys: its rows are sound, and texts say every key.

#include <catch2/catch.hpp>
#include <set>

#include "models/plan/plan_text.hpp"
#include "tests/random_plans.hpp"

using namespace packsim;
using packsim_test::RandomPlans;

namespace {

// The default plan with another value of one key.
ParallelPlan with_another(const PlanKey& key, RandomPlans& random) {
  ParallelPlan plan = default_plan();
  while (key.get(plan) == default_value(key)) key.set(plan, random.value(key));
  return plan;
}

OptionValue option_value(const PlanValue& value) {
  if (const auto* const boolean = std::get_if<bool>(&value)) return *boolean;
  if (const auto* const integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* const number = std::get_if<double>(&value)) return *number;
  return std::get<std::string>(value);
}

}  // namespace

TEST_CASE("A plan's key has a name of its own, a sentence, and a default in its range") {
  std::set<std::string_view> names;
  for (const PlanKey& key : plan_keys()) {
    CAPTURE(key.name());
    CHECK(names.insert(key.name()).second);
    CHECK(find_plan_key(key.name()) == &key);
    CHECK(key.option.text.ends_with('.'));
    CHECK(expected_of(key).size() > 8);
    if (!key.is_list) CHECK(accepts(key.option, option_value(default_value(key))));
    ParallelPlan plan = default_plan();
    key.set(plan, default_value(key));
    CHECK(plan == default_plan());
  }
  CHECK(find_plan_key("tp") == nullptr);
}

TEST_CASE("A key sets what it gets, and nothing else") {
  RandomPlans random(1);
  for (int i = 0; i < 500; ++i) {
    const ParallelPlan plan = random.next();
    ParallelPlan copy = random.next();
    for (const PlanKey& key : plan_keys()) key.set(copy, key.get(plan));
    REQUIRE(copy == plan);
    for (const PlanKey& key : plan_keys()) {
      CAPTURE(key.name());
      ParallelPlan other = plan;
      key.set(other, random.value(key));
      for (const PlanKey& kept : plan_keys())
        if (kept.name() != key.name()) REQUIRE(kept.get(other) == kept.get(plan));
    }
  }
}

TEST_CASE("The text of a plan says every key that is not at its default") {
  RandomPlans random(2);
  const std::string of_default = plan_text(default_plan());
  for (const PlanKey& key : plan_keys()) {
    if (key.part == PlanPart::cluster) continue;
    CAPTURE(key.name());
    const ParallelPlan one = with_another(key, random);
    CHECK(plan_text(one) != of_default);
    const ParallelPlan other = with_another(key, random);
    CHECK((plan_text(one) == plan_text(other)) == (one == other));
  }
}

TEST_CASE("A group in words: its tokens, the degrees that are not 1, and its checkpointed layers") {
  CHECK(group_text(16384, {}) == "16384 tokens, SP 1");
  CHECK(group_text(174752, {.sequence = {.ulysses = 8, .ring = 4}, .gc_layers = 12}) ==
        "174752 tokens, SP 8, CP 4, GC 12");
  CHECK(group_text(131072, {.tp_degree = 2, .sequence = {.ring = 2}, .pp_degree = 4, .ep_degree = 8}) ==
        "131072 tokens, CP 2, TP 2, PP 4, EP 8");
  CHECK(degrees_text({.zero_stage = 3, .gc_layers = 3}) == "GC 3");
}
