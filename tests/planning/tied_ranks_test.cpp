// The planner where pipelines and experts tie ranks together: rounds of packs, one SP degree an iteration.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "packing/pack.hpp"
#include "packing/planner/compose_rounds.hpp"
#include "planning/planned_time.hpp"
#include "tests/trials.hpp"

using namespace packsim;

namespace {

// A pack of t tokens on d GPUs takes 0.1 + t / d s, twice the tokens' part where d > 1; a document of s
// tokens s^2 / (1 000 d) s.
BatchSetting setting_of(int n_gpus, std::int64_t tokens_per_iteration, const std::vector<int>& degrees,
                        const RoundShape& shape) {
  BatchSetting setting;
  setting.n_gpus = n_gpus;
  setting.tokens_per_iteration = tokens_per_iteration;
  setting.rounds_in_step = setting.one_degree = true;
  setting.rounds = shape;
  for (const int degree : degrees) {
    BatchGroup group{.capacity_tokens = 100 * degree, .gpus_per_pack = degree};
    const double full_s = degree > 1 ? 200 : 100;
    group.cost.tokens_s = {.tokens = {0, group.capacity_tokens}, .time_s = {0.1, 0.1 + full_s}};
    for (std::int64_t s = 0; s <= group.capacity_tokens; ++s) {
      group.cost.document_s.tokens.push_back(s);
      group.cost.document_s.time_s.push_back(static_cast<double>(s * s) / (1000.0 * degree));
    }
    setting.groups.push_back(group);
  }
  return setting;
}

Packing plan(const BatchSetting& setting, const std::vector<std::int32_t>& lengths,
             int window_iterations = 0) {
  PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {}, .setting = &setting};
  for (const BatchGroup& group : setting.groups) request.capacities_tokens.push_back(group.capacity_tokens);
  request.options.set("window_iterations", window_iterations);
  return pack("planner", request);
}

std::vector<std::int32_t> random_lengths(std::mt19937& generator, int n, std::uint32_t most) {
  std::vector<std::int32_t> lengths;
  for (int i = 0; i < n; ++i) {
    const bool is_long = generator() % 8 == 0;
    lengths.push_back(static_cast<std::int32_t>(1 + generator() % (is_long ? most : most / 10)));
  }
  return lengths;
}

// The least time of rounds in which each of two GPUs has a pack, over all assignments of items.
double optimum_s(const BatchSetting& setting, const std::vector<std::int32_t>& lengths) {
  double best_s = std::numeric_limits<double>::infinity();
  const std::size_t n = lengths.size();
  for (std::size_t n_rounds = 1; n_rounds <= n; ++n_rounds) {
    const std::size_t n_slots = 2 * n_rounds;
    std::vector<std::size_t> slot_of(n, 0);
    for (bool more = true; more;) {
      std::vector<std::vector<std::int32_t>> slots(n_slots);
      for (std::size_t i = 0; i < n; ++i) slots[slot_of[i]].push_back(lengths[i]);
      double time_s = 0;
      for (std::size_t r = 0; r < n_rounds; ++r) {
        double round_s = 0;
        for (std::size_t gpu = 0; gpu < 2; ++gpu) {
          const std::vector<std::int32_t>& pack = slots[2 * r + gpu];
          if (std::reduce(pack.begin(), pack.end()) > setting.groups[0].capacity_tokens) round_s = best_s;
          if (!pack.empty()) round_s = std::max(round_s, pack_time_s(setting.groups[0].cost, pack));
        }
        if (round_s == 0) time_s = best_s;  // fewer rounds, which are tried too
        time_s += round_s;
      }
      time_s *= 1 + setting.rounds.fill_rounds / static_cast<double>(n_rounds);
      best_s = std::min(best_s, time_s);
      more = false;
      for (std::size_t i = 0; i < n && !more; ++i) {
        more = ++slot_of[i] < n_slots;
        if (!more) slot_of[i] = 0;
      }
    }
  }
  return best_s;
}

}  // namespace

TEST_CASE("the longer a pipeline takes to fill, the more and smaller packs") {
  // A pack of t tokens takes 10 + t s, so 6 400 tokens on one GPU (m + fill) (10 + 6 400 / m) s: least at
  // m = sqrt(6 400 fill / 10), without filling at 1.
  BatchGroup group{.capacity_tokens = 10'000, .gpus_per_pack = 1, .cost = {}};
  group.cost.tokens_s = {.tokens = {0, 10'000}, .time_s = {10, 10'010}};
  const DegreeCosts costs({&group, 1});
  CHECK(best_rounds(costs, {.tokens = 6400}, 1, {}) == 1);
  CHECK(best_rounds(costs, {.tokens = 6400}, 1, {.fill_rounds = 1}) == 25);  // 25.3
  // 43.8; 43 x 170 s is less than 47 x 156 s, as 40 divides the tokens.
  CHECK(best_rounds(costs, {.tokens = 6400}, 1, {.fill_rounds = 3, .multiple = 4}) == 40);
}

TEST_CASE("rounds of few items come near the best of all assignments", "[plain]") {
  std::mt19937 generator(5);
  double sum = 0;
  constexpr int kJobs = 100;
  for (int job = 0; job < kJobs; ++job) {
    const RoundShape shape{.fill_rounds = static_cast<double>(job % 4)};
    const BatchSetting setting = setting_of(2, 1000, {1}, shape);
    const std::vector<std::int32_t> lengths = random_lengths(generator, 5, 60);
    std::vector<ItemIndex> items(lengths.size());
    std::iota(items.begin(), items.end(), 0U);
    const double best_s = optimum_s(setting, lengths);
    const DegreeCosts costs(setting.groups);
    const double ours_s = compose_rounds(costs, lengths, items, 2, shape).time_s;
    CAPTURE(job, lengths);
    REQUIRE(ours_s >= best_s * (1 - 1e-9));
    sum += ours_s / best_s - 1;
  }
  CAPTURE(sum / kJobs);
  CHECK(sum / kJobs < 0.03);
}

TEST_CASE("an iteration of tied ranks has one SP degree, and every sample is trained once") {
  std::mt19937 generator(3);
  for (int trial = 0; trial < packsim_test::trials(60); ++trial) {
    const RoundShape shape = trial % 3 == 0   ? RoundShape{}
                             : trial % 3 == 1 ? RoundShape{.fill_rounds = 3}
                                              : RoundShape{.fill_rounds = 0.75, .multiple = 4};
    const BatchSetting setting = setting_of(4, 1600, {1, 2, 4}, shape);
    const std::vector<std::int32_t> lengths = random_lengths(generator, 300, 350);
    const Packing packing = plan(setting, lengths, trial % 2);  // checks that every sample is there
    CAPTURE(trial);
    REQUIRE(!packing.planned.iterations.empty());
    for (const Iteration& iteration : packing.planned.iterations) {
      const auto placed =
          std::span(packing.planned.placed).subspan(iteration.first_placed, iteration.n_placed);
      std::set<int> degrees;
      std::set<std::pair<int, int>> busy;  // GPU and round
      int n_rounds = 0;
      for (const PlacedPack& pack : placed) {
        const int degree = setting.groups[pack.group].gpus_per_pack;
        degrees.insert(degree);
        n_rounds = std::max(n_rounds, pack.round + 1);
        for (int gpu = 0; gpu < degree; ++gpu)
          busy.emplace(static_cast<int>(pack.first_gpu) + gpu, pack.round);
      }
      REQUIRE(degrees.size() == 1);
      if (shape.multiple == 1) continue;
      REQUIRE(n_rounds % shape.multiple == 0);
      REQUIRE(busy.size() == static_cast<std::size_t>(4 * n_rounds));
    }
  }
}

TEST_CASE("sorting samples out by degree takes no longer than one degree for all") {
  std::mt19937 generator(9);
  for (int trial = 0; trial < packsim_test::trials(20); ++trial) {
    const std::vector<std::int32_t> lengths = random_lengths(generator, 2000, 350);
    const RoundShape shape{.fill_rounds = 2};
    const BatchSetting all = setting_of(8, 1600, {1, 4}, shape);
    const BatchSetting wide = setting_of(8, 1600, {4}, shape);
    CHECK(planned_time_s(plan(all, lengths), all) < planned_time_s(plan(wide, lengths), wide));
  }
}

TEST_CASE("an interleaved pipeline that samples cannot fill is refused") {
  const BatchSetting setting = setting_of(4, 800, {1}, {.fill_rounds = 0.75, .multiple = 4});
  CHECK_THROWS_WITH(
      plan(setting, std::vector<std::int32_t>(15, 10)),
      "planner: expected at least 16 samples an iteration, a pack for each rank in each round of "
      "an interleaved pipeline, got 15");
  CHECK(plan(setting, std::vector<std::int32_t>(16, 10)).planned.iterations.size() == 1);
  // The second iteration, of 4 samples of 10 tokens, gets some of the first one's.
  CHECK(plan(setting, std::vector<std::int32_t>(84, 10)).planned.iterations.size() == 2);
}
