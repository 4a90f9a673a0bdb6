// What is written of a plan, a scenario reads as the same plan.

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "read_messages.hpp"
#include "scenarios/loader/json/plan_json.hpp"
#include "scenarios/loader/readers.hpp"
#include "tests/random_plans.hpp"

namespace packsim {
namespace {

using packsim_test::RandomPlans;

struct ReadBack {
  ParallelPlan plan;
  std::vector<std::string> messages;
};

// Over a plan in which everything may be different, but for the GPUs, which the cluster has.
ReadBack read_back(const ParallelPlan& written, ParallelPlan before) {
  before.n_gpus = written.n_gpus;
  Json file = group_json(1024, written);
  file["parallelism"] = parallelism_json(written);
  ReadBack back{.plan = before, .messages = {}};
  back.messages = read_messages(file.dump(), [&](JsonReader& reader) {
    reader.integer("capacity_tokens", 1, 4096);
    back.plan = read_parallelism(reader.object("parallelism"), back.plan);
    for (const PlanKey& key : plan_keys())
      if (key.part == PlanPart::group) read_plan_value(reader, key, back.plan);
  });
  return back;
}

}  // namespace

TEST_CASE("Every key of a plan is read as it was written") {
  RandomPlans random(1);
  for (const PlanKey& key : plan_keys()) {
    for (int i = 0; i < 20; ++i) {
      CAPTURE(key.name(), i);
      ParallelPlan plan = default_plan();
      key.set(plan, random.value(key));
      const ReadBack back = read_back(plan, random.next());
      CHECK(back.messages.empty());
      CHECK(back.plan == plan);
    }
  }
}

TEST_CASE("500 random plans are read as they were written") {
  RandomPlans random(2);
  for (int i = 0; i < 500; ++i) {
    CAPTURE(i);
    const ParallelPlan plan = random.next();
    const ReadBack back = read_back(plan, random.next());
    REQUIRE(back.messages.empty());
    REQUIRE(back.plan == plan);
  }
}

}  // namespace packsim
