#include "experiment/search/near_plans.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiment/pricers/shared_prices.hpp"
#include "experiment/search/base_plans.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

constexpr std::int64_t kLongestTokens = 8192;

// Plans near one on two nodes of an 8B model.
class Near {
 public:
  Near(const std::string& parallelism, const std::string& strategy)
      : scenario_(load_scenario(folder_with_lengths().write("job.json", R"({"format": 1, "name": "job",
            "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 2},
            "profile": "any-framework-h100", "training": {"tokens_per_iteration": 262144, "epochs": 1},
            "parallelism": {)" + parallelism + R"(}, "lengths": {"mix": [{"source": "lengths.csv"}]},
            "packing": {"plan": "auto"}, "strategies": [{"strategy": ")" + strategy +
                                                                            R"("}],
            "baseline": ")" + strategy + R"("})"),
                                packsim_test::kData)),
        prices_(scenario_),
        pricers_(prices_.lend()),
        floors(counts_, true, *pricers_),
        options(scenario_, kLongestTokens, kLongestTokens, 0),
        bases(base_plans(scenario_, scenario_.strategies.front())) {
    plan.spec = scenario_.strategies.front();
    plan.spec.plan = root_of(bases.front());
  }

  const Scenario& scenario() const { return scenario_; }

  std::vector<std::vector<std::int64_t>> lengths() const {
    std::vector<std::vector<std::int64_t>> all;
    for (const PlanCandidate& one : space.candidates) {
      std::vector<std::int64_t>& of_plan = all.emplace_back();
      for (const GroupSpec& group : one.spec.groups) of_plan.push_back(group.capacity_tokens);
    }
    return all;
  }

 private:
  const TempFolder& folder_with_lengths() {
    std::string lengths = "tokens\n";
    for (int i = 0; i < 64; ++i) lengths += "8192\n";
    folder_.write("lengths.csv", lengths);
    return folder_;
  }

  TempFolder folder_;
  Scenario scenario_;
  SharedPrices prices_;
  std::shared_ptr<ScenarioPricers> pricers_;
  std::vector<LengthCount> counts_ = {{kLongestTokens, 64}};

 public:
  WorkFloors floors;
  GroupOptions options;
  std::vector<ParallelPlan> bases;
  PlanCandidate plan;
  PlanSpace space;
};

using Lengths = std::vector<std::vector<std::int64_t>>;

}  // namespace

TEST_CASE("Near packs are longer and shorter, hold every sample, and rise in length") {
  Near near("", "hbp");
  near.plan.spec.groups = {{.capacity_tokens = 4096, .sequence = {}, .gc_layers = {}},
                           {.capacity_tokens = 10240, .sequence = {.ulysses = 2}, .gc_layers = {}}};
  add_near_lengths(near.plan, 0.25, near.options, near.floors, near.space);
  // A quarter shorter than 10 240 is 7 680, less than the longest sample.
  CHECK(near.lengths() == Lengths{{3072, 10240}, {5120, 10240}, {10240}, {4096, 8192}, {4096, 12800}});
  for (const PlanCandidate& one : near.space.candidates) CHECK(one.floor_s > 0);

  near.space = {};
  add_near_lengths(near.plan, 1, near.options, near.floors, near.space);
  CHECK(near.lengths() == Lengths{{2048, 10240}, {8192, 10240}, {10240}, {4096, 8192}, {4096, 20480}});
}

TEST_CASE("Plans without the lowest degrees keep the group of the longest sample") {
  Near near("", "flexsp");
  near.plan.spec.groups = {{.capacity_tokens = 2048, .sequence = {}, .gc_layers = {}},
                           {.capacity_tokens = 4096, .sequence = {.ulysses = 2}, .gc_layers = {}},
                           {.capacity_tokens = 8192, .sequence = {.ulysses = 4}, .gc_layers = {}}};
  add_fewer_degrees(near.plan, near.options, near.floors, near.space);
  CHECK(near.lengths() == Lengths{{4096, 8192}, {8192}});
}

TEST_CASE("Near ways share packs by as many GPUs, and change chunks or options alone") {
  Near near(R"("pp_degree": 2)", "none");
  near.plan.spec.groups = {{.capacity_tokens = 8192, .sequence = {.ulysses = 4}, .gc_layers = {}}};
  add_near_ways(near.plan, near.plan.spec.options, near.bases, near.options, near.floors, near.space);
  std::vector<std::pair<int, int>> ways;
  std::vector<int> chunks;
  std::vector<std::size_t> option_sets;
  for (const PlanCandidate& one : near.space.candidates) {
    const SequenceParallelism& way = one.spec.groups.front().sequence;
    CHECK(way.gpus_per_pack() == 4);
    CHECK(one.spec.plan->pp_degree == 2);
    if (way != near.plan.spec.groups.front().sequence) {
      ways.emplace_back(way.ulysses, way.ring);
    } else if (one.option_set > 0) {
      option_sets.push_back(one.option_set);
    } else {
      chunks.push_back(one.spec.plan->virtual_stages);
    }
  }
  CHECK(ways == std::vector<std::pair<int, int>>{{2, 2}, {1, 4}});
  // Two, four and eight rows a micro-batch instead of one.
  CHECK(option_sets == std::vector<std::size_t>{1, 2, 3});
  // Sixteen layers a stage.
  CHECK(chunks == std::vector<int>{2, 4, 8, 16});
}

TEST_CASE("Other strategies have the same packs, their own order and options, and one degree") {
  Near near("", "isf");
  near.plan.spec.groups = {{.capacity_tokens = 8192, .sequence = {.ulysses = 2}, .gc_layers = {}}};
  std::vector<StrategySpec> others(4, near.plan.spec);
  others[1].order = PackOrder::balanced;
  others[2].strategy = "sorted";
  others[2].options.set("batch_samples", 2);
  others[3].strategy = "flexsp";
  add_other_strategies(near.plan, others, near.options, near.floors, near.space);
  REQUIRE(near.space.candidates.size() == 2);
  CHECK(near.lengths() == Lengths{{8192}, {8192}});
  const StrategySpec& balanced = near.space.candidates[0].spec;
  CHECK(balanced.strategy == "isf");
  CHECK(balanced.order == PackOrder::balanced);
  const StrategySpec& sorted = near.space.candidates[1].spec;
  CHECK(sorted.strategy == "sorted");
  CHECK(sorted.options.find("batch_samples") != nullptr);
}

TEST_CASE("Packs may fit if the longest sample that is packed does") {
  const Near near("", "hbp");
  constexpr std::int64_t kLongPack = 1 << 20;  // inputs of 32 layers: 32 x 1 M x 4 096 x 2 bytes = 275 GB
  const auto option = [&](int zero_stage, std::int64_t longest_packed_tokens) {
    ParallelPlan plan = root_of(near.bases.front());
    plan.zero_stage = zero_stage;
    GroupOptions options(near.scenario(), kLongPack, longest_packed_tokens, 0);
    return options.of(plan, {}, kLongPack);
  };
  CHECK_FALSE(option(3, kLongestTokens).fits);
  CHECK(option(3, kLongestTokens).may_fit);
  CHECK_FALSE(option(3, kLongPack).may_fit);
  // The states of 8 G parameters take 16 bytes of each, 128 of 80 GB.
  CHECK_FALSE(option(0, kLongestTokens).may_fit);
}
