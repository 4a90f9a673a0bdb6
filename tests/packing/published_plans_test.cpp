// The cases of published_cases.json that are about strategies that form whole iterations; see
// published_cases_test.cpp, which runs them.

#include "tests/packing/published_plans.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "packing/algorithms/cp_blocks.hpp"
#include "packing/algorithms/balance/karmarkar_karp.hpp"

namespace packsim::testing {
namespace {

using nlohmann::json;
using Lengths = std::vector<std::int32_t>;
using Ids = std::vector<ItemIndex>;

// All of the data as one global batch, in data set order.
BatchPlan plan_of(std::string_view strategy, const Lengths& lengths, BatchSetting setting,
                  bool own_packs = false) {
  setting.tokens_per_iteration =
      std::max<std::int64_t>(1, std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
  BatchProblem problem{.items = {.lengths_tokens = lengths,
                                 .capacity_tokens = setting.groups.back().capacity_tokens,
                                 .own_packs = own_packs},
                       .setting = setting};
  problem.items.options.set("shuffle", false);
  return find_strategy(strategy)->plan_batches(problem);
}

BatchSetting one_group(std::int64_t capacity, int gpus_per_pack, int n_gpus) {
  return {.groups = {{.capacity_tokens = capacity, .gpus_per_pack = gpus_per_pack}}, .n_gpus = n_gpus};
}

// CP degrees least, 2 * least, 4 * least, ..., up to what GPUs or the longest sample ask for.
BatchSetting cp_setting(std::int64_t max_len_per_rank, int n_gpus, std::int64_t longest, int least = 1) {
  BatchSetting setting;
  setting.n_gpus = n_gpus;
  for (int degree = least;; degree *= 2) {
    setting.groups.push_back({.capacity_tokens = max_len_per_rank * degree, .gpus_per_pack = degree});
    if (2 * degree > n_gpus && max_len_per_rank * degree >= longest) return setting;
  }
}

// [micro-batch][GPU] the samples that a GPU trains, in order. Micro-batches end where GPUs wait for each
// other or, in plans without barriers, with every round.
json micro_batches_of(const BatchPlan& plan, const BatchSetting& setting, bool has_barriers) {
  std::vector<std::vector<Ids>> result;
  int round = -1;
  for (const PlacedPack& placed : plan.placed) {
    const bool new_round = placed.round != round;
    round = placed.round;
    if (result.empty() || (new_round && (!has_barriers || placed.after_barrier))) {
      result.emplace_back(setting.n_gpus);
    }
    const auto items = plan.groups[placed.group][placed.pack];
    for (int i = 0; i < setting.groups[placed.group].gpus_per_pack; ++i) {
      Ids& gpu = result.back()[placed.first_gpu + i];
      gpu.insert(gpu.end(), items.begin(), items.end());
    }
  }
  return result;
}

// [round][GPU] sum of length^2 / CP degree.
json rank_work(const BatchPlan& plan, const BatchSetting& setting, const Lengths& lengths) {
  std::vector<std::vector<double>> work;
  for (const PlacedPack& placed : plan.placed) {
    work.resize(placed.round + 1U, std::vector<double>(setting.n_gpus, 0.0));
    const int degree = setting.groups[placed.group].gpus_per_pack;
    for (const ItemIndex item : plan.groups[placed.group][placed.pack]) {
      for (int i = 0; i < degree; ++i) {
        work.back()[placed.first_gpu + i] += static_cast<double>(lengths[item]) * lengths[item] / degree;
      }
    }
  }
  return work;
}

std::string plan_refusal(std::string_view strategy, const Lengths& lengths, const BatchSetting& setting) {
  try {
    plan_of(strategy, lengths, setting);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

void check_cp_schedule(const json& c) {
  const json& input = c["input"];
  const bool hybrid = input["strategy"] == "balanced_cp";
  const char* strategy = hybrid ? "megatron_hybrid_cp" : "megatron_dynamic_cp";
  const auto lengths = input["lengths"].get<Lengths>();
  const BatchSetting setting =
      cp_setting(input["max_len_per_rank"], input["ranks"], *std::ranges::max_element(lengths));
  if (c["expected"].contains("error")) {  // upstream's assertion fails
    CHECK(plan_refusal(strategy, lengths, setting).find("got sample 0 of 65536") != std::string::npos);
    return;
  }
  const BatchPlan plan = plan_of(strategy, lengths, setting);
  CHECK(plan.iterations.size() == 1);
  check_published(c, micro_batches_of(plan, setting, hybrid), c["expected"]["microbatches"]);
  if (c["expected"].contains("rank_work")) {
    check_published(c, rank_work(plan, setting, lengths), c["expected"]["rank_work"]);
  }
}

void check_cp_size(const json& c) {
  const json& input = c["input"];
  const Lengths lengths = {input["length"]};
  const BatchSetting setting = cp_setting(input["max_len_per_rank"], 1, lengths[0], input["min_cp"]);
  const BatchProblem problem{.items = {.lengths_tokens = lengths, .capacity_tokens = lengths[0]},
                             .setting = setting};
  const CpGroups groups(problem, "megatron_dynamic_cp");
  check_published(c, groups.degree(groups.group_for(0)), c["expected"]["cp"]);
}

void check_dp_schedule(const json& c) {
  const json& input = c["input"];
  const int cp = input["cp"];
  const BatchSetting setting =
      one_group(input["max_len_per_rank"].get<std::int64_t>() * cp, cp, cp * input["dp"].get<int>());
  const BatchPlan plan = plan_of("megatron_dp_balanced", input["lengths"].get<Lengths>(), setting, true);
  const json& expected = c["expected"];
  check_published(c, micro_batches_of(plan, setting, false),
                  expected.contains("error") ? expected["error"] : expected["microbatches"]);
}

void check_partition(const json& c) {
  const auto values = c["input"]["values"].get<std::vector<std::int64_t>>();
  const auto groups = karmarkar_karp(values, c["input"]["groups"]);
  check_published(c, groups, c["expected"]["groups"]);
  json sums = json::array();
  for (const auto& group : groups) {
    std::int64_t sum = 0;
    for (const std::uint32_t i : group) sum += values[i];
    sums.push_back(sum);
  }
  check_published(c, sums, c["expected"]["sums"]);
}

void check_partition_sq(const json& c) {
  const auto lengths = c["input"]["lengths"].get<Lengths>();
  const BatchSetting setting = one_group(1'000'000, 1, c["input"]["groups"]);
  const BatchPlan plan = plan_of("trl_lpt", lengths, setting);
  check_published(c, micro_batches_of(plan, setting, false)[0], c["expected"]["groups"]);
  check_published(c, rank_work(plan, setting, lengths)[0], c["expected"]["sum_sq"]);
}

void check_token_limit(const json& c) {
  const auto lengths = c["input"]["lengths"].get<Lengths>();
  const BatchSetting setting = one_group(c["input"]["max_token_len"], 1, 1);
  const BatchPlan plan = plan_of("verl_kk", lengths, setting);
  CHECK(plan.placed.size() == c["expected"]["strict_groups"]);
  for (std::size_t p = 0; p < plan.groups[0].n_packs(); ++p) {
    std::int64_t tokens = 0;
    for (const ItemIndex item : plan.groups[0][p]) tokens += lengths[item];
    CHECK(tokens <= c["expected"]["strict_max_tokens"]);
  }
}

// "12 then 3 repeated 60x": single lengths, and the last one so many times.
Lengths stream_of(const std::string& text) {
  Lengths lengths;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == "then" || word == "repeated") continue;
    if (word.back() == 'x') {
      lengths.insert(lengths.end(), std::stoul(word) - 1, lengths.back());
    } else {
      lengths.push_back(std::stoi(word));
    }
  }
  return lengths;
}

void check_stream_batch(const json& c) {
  const json& input = c["input"];
  const json& expected = c["expected"];
  const Lengths lengths = stream_of(input["stream"]);
  const std::int64_t budget = input["token_budget"];
  const BatchSetting setting = one_group(budget, 1, input["ranks"]);
  const BatchPlan plan = plan_of("trl_lpt", lengths, setting);
  const auto rounds = micro_batches_of(plan, setting, false).get<std::vector<std::vector<Ids>>>();
  if (expected.contains("first_microbatch_row_counts")) {
    json counts = json::array();
    for (const Ids& row : rounds[0]) counts.push_back(row.size());
    check_published(c, counts, expected["first_microbatch_row_counts"]);
  }
  if (expected.contains("first_microbatches")) CHECK(rounds.size() >= expected["first_microbatches"]);
  std::size_t n_placed = 0;
  for (const auto& rows : rounds) {
    for (const Ids& row : rows) {
      std::int64_t tokens = 0;
      for (const ItemIndex item : row) tokens += lengths[item];
      CHECK(tokens <= budget);
      CHECK(!row.empty());
      n_placed += row.size();
    }
  }
  const auto over_long = std::ranges::count_if(lengths, [&](std::int32_t n) { return n > budget; });
  CHECK((over_long > 0) == expected.contains("oversize_dropped"));
  CHECK(std::ssize(lengths) - over_long == static_cast<std::ptrdiff_t>(n_placed));
}

}  // namespace packsim::testing
