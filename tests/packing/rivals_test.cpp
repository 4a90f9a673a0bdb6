// What each strategy that is named after a tool or paper decides, on samples few enough to do by hand, and
// the partitioners against plain ones and against the optimum.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "packing/algorithms/balance/karmarkar_karp.hpp"
#include "packing/batch_problem.hpp"
#include "packing/pack.hpp"
#include "tests/packing/naive_packers.hpp"

namespace packsim::testing {
namespace {

using Values = std::vector<std::int64_t>;
using Parts = std::vector<std::vector<std::uint32_t>>;

BatchSetting ranks_of(std::int64_t capacity, int n_ranks, std::int64_t tokens_per_iteration) {
  BatchSetting setting;
  setting.groups = {{.capacity_tokens = capacity, .gpus_per_pack = 1}};
  setting.n_gpus = n_ranks;
  setting.tokens_per_iteration = tokens_per_iteration;
  return setting;
}

BatchPlan plan_with(std::string_view strategy, const Lengths& lengths, const BatchSetting& setting,
                    OptionValues options = {}) {
  options.set("shuffle", false);
  const BatchProblem problem{.items = {.lengths_tokens = lengths,
                                       .capacity_tokens = setting.groups.back().capacity_tokens,
                                       .options = options},
                             .setting = setting};
  return find_strategy(strategy)->plan_batches(problem);
}

// [iteration][pack][item], packs by round, then as placed.
std::vector<Packs> packs_by_iteration(const BatchPlan& plan) {
  std::vector<Packs> result;
  for (const Iteration& iteration : plan.iterations) {
    result.emplace_back();
    for (std::uint32_t i = 0; i < iteration.n_placed; ++i) {
      const PlacedPack& placed = plan.placed[iteration.first_placed + i];
      const auto items = plan.groups[placed.group][placed.pack];
      result.back().emplace_back(items.begin(), items.end());
    }
  }
  return result;
}

// Largest differencing with all parts written out, empty ones too, and a scan for the largest spread.
struct DensePartition {
  std::vector<std::pair<std::int64_t, std::vector<std::uint32_t>>> parts;

  void sort() {
    std::ranges::sort(parts, [](const auto& a, const auto& b) {
      if (a.first != b.first) return a.first > b.first;
      if (a.second.size() != b.second.size()) return a.second.size() > b.second.size();
      return a.second > b.second;
    });
  }
  std::int64_t spread() const { return parts.front().first - parts.back().first; }
  bool comes_before(const DensePartition& other) const {
    if (spread() != other.spread()) return spread() > other.spread();
    const auto& a = parts.front();
    const auto& b = other.parts.front();
    if (a.first != b.first) return a.first > b.first;
    if (a.second.size() != b.second.size()) return a.second.size() > b.second.size();
    return a.second > b.second;
  }
};

Parts naive_karmarkar_karp(const Values& values, std::size_t n_parts, PartSizes sizes) {
  std::vector<DensePartition> left;
  if (sizes == PartSizes::any) {
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      DensePartition single;
      single.parts.resize(n_parts);
      single.parts[0] = {values[i], {i}};
      left.push_back(single);
    }
  } else {
    std::vector<std::pair<std::int64_t, std::uint32_t>> ascending;
    for (std::uint32_t i = 0; i < values.size(); ++i) ascending.emplace_back(values[i], i);
    std::ranges::sort(ascending);
    // From the largest down, so that the smallest are the ones that are too few.
    for (auto end = ascending.size(); end > 0;) {
      const std::size_t n = std::min(end, n_parts);
      DensePartition together;
      together.parts.resize(n_parts);
      for (std::size_t k = 0; k < n; ++k) {
        const auto& [value, index] = ascending[end - n + k];
        together.parts[k] = {value, {index}};
      }
      together.sort();
      left.push_back(together);
      end -= n;
    }
  }
  const auto pop = [&] {
    auto best = left.begin();
    for (auto it = left.begin(); it != left.end(); ++it) {
      if (it->comes_before(*best)) best = it;
    }
    DensePartition result = *best;
    left.erase(best);
    return result;
  };
  while (left.size() > 1) {
    DensePartition a = pop();
    const DensePartition b = pop();
    for (std::size_t i = 0; i < n_parts; ++i) {
      const auto& [sum, members] = b.parts[n_parts - 1 - i];
      a.parts[i].first += sum;
      a.parts[i].second.insert(a.parts[i].second.end(), members.begin(), members.end());
    }
    a.sort();
    left.push_back(a);
  }
  Parts result;
  for (auto& [sum, members] : left[0].parts) {
    std::ranges::sort(members);
    result.push_back(members);
  }
  return result;
}

std::int64_t largest_sum(const Values& values, const Parts& parts) {
  std::int64_t largest = 0;
  for (const auto& part : parts) {
    std::int64_t sum = 0;
    for (const std::uint32_t i : part) sum += values[i];
    largest = std::max(largest, sum);
  }
  return largest;
}

// The least largest sum over all ways to put the values from `next` on into the parts.
std::int64_t optimum(const Values& values, Values& sums, std::size_t next = 0) {
  if (next == values.size()) return *std::ranges::max_element(sums);
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t& sum : sums) {
    sum += values[next];
    best = std::min(best, optimum(values, sums, next + 1));
    sum -= values[next];
  }
  return best;
}

// Mean over iterations of the largest sum of squares on a rank, over its mean.
double square_imbalance(const BatchPlan& plan, const Lengths& lengths, int n_ranks) {
  double total = 0;
  for (const Iteration& iteration : plan.iterations) {
    std::vector<double> work(static_cast<std::size_t>(n_ranks), 0.0);
    for (std::uint32_t i = 0; i < iteration.n_placed; ++i) {
      const PlacedPack& placed = plan.placed[iteration.first_placed + i];
      for (const ItemIndex item : plan.groups[0][placed.pack]) {
        work[placed.first_gpu] += std::pow(static_cast<double>(lengths[item]), 2);
      }
    }
    const double mean = std::accumulate(work.begin(), work.end(), 0.0) / n_ranks;
    total += *std::ranges::max_element(work) / mean;
  }
  return total / static_cast<double>(plan.iterations.size());
}

}  // namespace

TEST_CASE("Karmarkar-Karp merges and breaks ties as its plain form does") {
  std::mt19937 generator(21);
  for (int run = 0; run < 400; ++run) {
    // Few parts for many values, or more parts than most have values for.
    const std::size_t n_parts = 1 + generator() % (run % 4 < 2 ? 7 : 40);
    Values values(1 + generator() % 30);
    const std::uint32_t range = run % 2 == 0 ? 5 : 100000;  // many ties, or next to none
    for (std::int64_t& value : values) value = generator() % range;
    INFO(run);
    for (const PartSizes sizes : {PartSizes::any, PartSizes::equal})
      CHECK(karmarkar_karp(values, n_parts, sizes) == naive_karmarkar_karp(values, n_parts, sizes));
  }
  CHECK(karmarkar_karp({}, 2) == Parts{{}, {}});
}

TEST_CASE("Parts of equal size differ by one value at most, and parts of any size have smaller sums") {
  std::mt19937 generator(23);
  double any_sum = 0;
  double equal_sum = 0;
  for (int run = 0; run < 100; ++run) {
    const std::size_t n_parts = 1 + generator() % 8;
    Values values(n_parts + generator() % 30);
    for (std::int64_t& value : values) value = generator() % 100000;
    const Parts parts = karmarkar_karp(values, n_parts, PartSizes::equal);
    const auto [fewest, most] = std::ranges::minmax(parts, {}, &Parts::value_type::size);
    CHECK(most.size() - fewest.size() <= 1);
    any_sum += static_cast<double>(largest_sum(values, karmarkar_karp(values, n_parts)));
    equal_sum += static_cast<double>(largest_sum(values, parts));
  }
  CHECK(any_sum < equal_sum);
}

TEST_CASE("verl's equal_size puts the long samples of a batch on different ranks, with as many short ones") {
  // By verl's rule {8, 7}, {6, 5}, {4, 3} begin side by side; then 8+5 and 7+6; of these equal sums the one
  // with the later value counts as the larger, so 8+5 gets the 4: 17 and 16.
  CHECK(karmarkar_karp(Values{8, 7, 6, 5, 4, 3}, 2, PartSizes::equal) == Parts{{0, 3, 4}, {1, 2, 5}});
  // One long sample and five short ones: each rank has three.
  CHECK(karmarkar_karp(Values{100, 1, 1, 1, 1, 1}, 2, PartSizes::equal)[0].size() == 3);
}

TEST_CASE("Karmarkar-Karp and LPT stay between the optimum and 4/3 - 1/(3m) of it") {
  // Graham 1969 for LPT; Michiels, Korst, Aarts and van Leeuwen 2003 for Karmarkar-Karp.
  std::mt19937 generator(22);
  for (int run = 0; run < 150; ++run) {
    const int m = 2 + static_cast<int>(generator() % 2);
    Lengths lengths(1 + generator() % 8);
    for (std::int32_t& length : lengths) length = 1 + static_cast<std::int32_t>(generator() % 60);
    Values squares;
    for (const std::int32_t length : lengths) squares.push_back(std::int64_t{length} * length);
    Values sums(static_cast<std::size_t>(m), 0);
    const auto best = static_cast<double>(optimum(squares, sums));
    const double bound = (4.0 / 3.0 - 1.0 / (3.0 * m)) * best * (1 + 1e-12);

    const BatchPlan plan = plan_with("trl_lpt", lengths, ranks_of(1'000'000, m, 1'000'000));
    REQUIRE(plan.iterations.size() == 1);
    const auto lpt = static_cast<double>(largest_sum(squares, packs_of(plan.groups[0])));
    const auto kk = static_cast<double>(largest_sum(squares, karmarkar_karp(squares, m)));
    INFO("run " << run << " optimum " << best);
    CHECK(lpt >= best);
    CHECK(lpt <= bound);
    CHECK(kk >= best);
    CHECK(kk <= bound);
  }
}

TEST_CASE("verl_kk balances ranks, then micro-batches, and uses more of them rather than break the limit") {
  OptionValues options;
  options.set("linear_weight_tokens", 0);
  // Squares 64 36 36 16 16 4, sum 172. Differences by Karmarkar-Karp over two ranks: 64-36 = 28, 36-28 = 8,
  // 16-16 = 0, 8-4 = 4, 4-0 = 4: ranks of 88 and 84. Tokens 8+6+6+4+4+2 = 30.
  const BatchPlan plan = plan_with("verl_kk", {8, 6, 6, 4, 4, 2}, ranks_of(8, 2, 30), options);
  std::vector<std::int64_t> work(2, 0);
  std::uint16_t rounds = 0;
  for (const PlacedPack& placed : plan.placed) {
    std::int64_t tokens = 0;
    for (const ItemIndex item : plan.groups[0][placed.pack]) {
      const std::int64_t length = std::vector<std::int64_t>{8, 6, 6, 4, 4, 2}[item];
      tokens += length;
      work[placed.first_gpu] += length * length;
    }
    CHECK(tokens <= 8);
    rounds = std::max<std::uint16_t>(rounds, placed.round + 1);
  }
  CHECK(std::ranges::max(work) == 88);
  CHECK(std::ranges::min(work) == 84);
  CHECK(rounds == 3);
  // Eight samples of 7: ceil(56 / 8) = 7 micro-batches would put two of them together.
  CHECK(plan_with("verl_kk", Lengths(8, 7), ranks_of(8, 1, 56)).placed.size() == 8);
}

TEST_CASE("verl_kk runs the smallest micro-batches first and last") {
  // One rank, a sample a micro-batch, by work 5 4 3 2 1: every second one backwards (1 3 5), then 4 2.
  const BatchPlan plan = plan_with("verl_kk", {1, 2, 3, 4, 5}, ranks_of(5, 1, 15));
  REQUIRE(plan.iterations.size() == 1);
  // ceil(15 / 5) = 3 micro-batches balance as {5}, {4, 1}, {3, 2}, each of 5 tokens: more are not needed.
  CHECK(plan.placed.size() == 3);
  const BatchPlan alone = plan_with("verl_kk", {11, 12, 13, 14, 15}, ranks_of(15, 1, 65));
  CHECK(packs_by_iteration(alone) == std::vector<Packs>{{{0}, {2}, {4}, {3}, {1}}});
}

TEST_CASE("slime_kk and prime_rl put as many packs on each rank") {
  OptionValues squares;
  squares.set("linear_weight_tokens", 0);
  squares.set("shuffle", false);
  // Squares 25 9 4 4. Two micro-batches, {5} and {3 2 2}, would have 1 and 7 tokens of 6; three are {5}, {3}
  // and {2 2}. Of these, {2 2} has the most tokens of several samples: four are {5} {3} {2} {2}. Over two
  // ranks of two, Karmarkar-Karp has 25 + 4 and 9 + 4.
  const BatchPlan slime = plan_with("slime_kk", {5, 3, 2, 2}, ranks_of(6, 2, 12), squares);
  // Round by round: 25 and 9, then 4 and 4.
  CHECK(packs_by_iteration(slime) == std::vector<Packs>{{{0}, {1}, {2}, {3}}});
  // First fit has {5} {3 2} {2}, of which {3 2} has the most work: {5} {3} {2} {2} again.
  const BatchPlan prime = plan_with("prime_rl", {5, 3, 2, 2}, ranks_of(6, 2, 12), squares);
  CHECK(packs_by_iteration(prime) == std::vector<Packs>{{{0}, {1}, {3}, {2}}});
}

TEST_CASE("No swap of two packs evens out the ranks of prime_rl any more", "[plain]") {
  OptionValues squares;
  squares.set("linear_weight_tokens", 0);
  constexpr std::size_t kRanks = 4;
  int n_better = 0;
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    const Lengths lengths = heavy_tailed_lengths(400, seed, 4096);
    const BatchPlan plan = plan_with("prime_rl", lengths, ranks_of(4096, kRanks, 1'000'000), squares);
    REQUIRE(plan.iterations.size() == 1);
    std::vector<std::vector<std::int64_t>> work(kRanks);
    for (const PlacedPack& placed : plan.placed) {
      std::int64_t of_pack = 0;
      for (const ItemIndex item : plan.groups[0][placed.pack])
        of_pack += std::int64_t{lengths[item]} * lengths[item];
      work[placed.first_gpu].push_back(of_pack);
    }
    const auto spread_of = [](const auto& ranks) {
      std::vector<std::int64_t> loads;
      for (const auto& rank : ranks)
        loads.push_back(std::accumulate(rank.begin(), rank.end(), std::int64_t{0}));
      const auto [least, most] = std::ranges::minmax(loads);
      return std::pair(most, most - least);
    };
    const auto reached = spread_of(work);
    for (std::size_t a = 0; a < kRanks; ++a) {
      CHECK(work[a].size() == work[0].size());
      for (std::size_t b = a + 1; b < kRanks; ++b) {
        for (std::int64_t& one : work[a]) {
          for (std::int64_t& other : work[b]) {
            std::swap(one, other);
            CHECK(spread_of(work) >= reached);
            std::swap(one, other);
          }
        }
      }
    }
    std::vector<std::int64_t> packs;
    for (const auto& rank : work) packs.insert(packs.end(), rank.begin(), rank.end());
    std::vector<std::vector<std::int64_t>> without_swaps;
    for (const auto& part : karmarkar_karp(packs, kRanks, PartSizes::equal)) {
      std::vector<std::int64_t>& rank = without_swaps.emplace_back();
      for (const std::uint32_t pack : part) rank.push_back(packs[pack]);
    }
    CHECK(reached <= spread_of(without_swaps));
    if (reached < spread_of(without_swaps)) ++n_better;
  }
  CHECK(n_better > 0);
}

TEST_CASE("WLB-LLM's long samples wait until there is one for each micro-batch") {
  OptionValues options;
  options.set("linear_weight_tokens", 0);  // the work is the square
  options.set("outlier_queues", 1);
  options.set("outlier_threshold_tokens", 80);
  options.set("micro_batch_tokens", 100);  // 200 tokens on two ranks: two micro-batches
  // Global batches: 90 50 30 20 | 60 90 40 10.
  const BatchPlan plan = plan_with("wlb", {90, 50, 30, 20, 60, 90, 40, 10}, ranks_of(100, 2, 200), options);
  // Step 1: the 90 waits; 50 | 30 20 (squares 2500 | 900, then 1300).
  // Step 2: the second 90 is there, and both go: 90 | 90. 60 and 40 fit neither and wait; 10 goes to the
  // first.
  // Then, at the end of the data: 60 | 40.
  const std::vector<Packs> expected = {{{1}, {2, 3}}, {{0, 7}, {5}}, {{4}, {6}}};
  CHECK(packs_by_iteration(plan) == expected);
}

TEST_CASE("WLB-LLM goes to the least work, else to the fewest tokens, else to the next step") {
  OptionValues options;
  options.set("linear_weight_tokens", 0);
  options.set("outlier_queues", 0);
  options.set("micro_batch_tokens", 100);
  // 60 | 35, 60 | 35 35 (3600 | 2450); 33 would go to the second, which has 70 tokens, and 103 are too many;
  // the first has 60. The last 33 fits neither.
  const BatchPlan plan = plan_with("wlb", {60, 35, 35, 33, 33}, ranks_of(100, 2, 196), options);
  CHECK(packs_by_iteration(plan) == std::vector<Packs>{{{0, 3}, {1, 2}}, {{4}}});
}

TEST_CASE("WLB-LLM has a queue for each part of the long lengths, and trains what waits at the end") {
  OptionValues options;
  options.set("outlier_queues", 2);  // 50..74 and 75..100
  options.set("outlier_threshold_tokens", 50);
  options.set("micro_batch_tokens", 100);
  // 350 tokens are one global batch and four micro-batches: no queue has four, so all wait for the end. Then
  // 90 80 70 60 have one each, and 50 fits beside none of them.
  const BatchPlan plan = plan_with("wlb", {50, 90, 60, 80, 70}, ranks_of(100, 2, 350), options);
  CHECK(packs_by_iteration(plan) == std::vector<Packs>{{{1}, {3}, {4}, {2}}, {{0}}});
  const BatchPlan two = plan_with("wlb", {50, 90, 60, 80, 70}, ranks_of(100, 2, 200), options);
  // 50 90 60 | 80 70. Step 1: 50 and 60 go: 60 | 50. Step 2: 90 and 80 go. The end: 70.
  CHECK(packs_by_iteration(two) == std::vector<Packs>{{{2}, {0}}, {{1}, {3}}, {{4}}});
}

TEST_CASE("WLB-LLM trains at the end as many waiting samples in a step as its tokens allow") {
  OptionValues options;
  options.set("outlier_queues", 2);  // 50..74 and 75..100
  options.set("outlier_threshold_tokens", 50);
  options.set("micro_batch_tokens", 100);
  // 90 and 60 wait, each alone in its queue. They are 150 tokens: one step of 150, two of 149. The queue of
  // the shorter lengths is the first to go, and in a step the longest sample is.
  CHECK(packs_by_iteration(plan_with("wlb", {90, 60}, ranks_of(100, 2, 150), options)) ==
        std::vector<Packs>{{{0}, {1}}});
  CHECK(packs_by_iteration(plan_with("wlb", {90, 60}, ranks_of(100, 2, 149), options)) ==
        std::vector<Packs>{{{1}}, {{0}}});
}

TEST_CASE("WLB-LLM follows the price of packs where there is one") {
  // Tokens are free, and samples over 10 tokens cost a second more a token: 12 costs 2, 20 costs 10.
  BatchSetting setting = ranks_of(100, 2, 200);
  setting.groups[0].cost.document_s = {.tokens = {0, 10, 110}, .time_s = {0, 0, 100}};
  OptionValues options;
  options.set("outlier_queues", 0);
  options.set("micro_batch_tokens", 100);
  // 20 | 12, then 10s, which cost nothing: all to the second.
  const BatchPlan plan = plan_with("wlb", {10, 20, 10, 12, 10}, setting, options);
  CHECK(packs_by_iteration(plan) == std::vector<Packs>{{{1}, {3, 0, 2, 4}}});
}

TEST_CASE("LongAlign's sorted batching makes steps of groups of neighbours") {
  // Ascending 1 2 3 | 5 7 8 | 9 on three ranks. 35 tokens in three groups: 24 tokens a step are two groups.
  const BatchPlan plan = plan_with("longalign_sorted", {5, 1, 9, 3, 7, 2, 8}, ranks_of(10, 3, 24));
  const std::vector<Packs> expected = {{{1}, {5}, {3}, {0}, {4}, {6}}, {{2}}};
  CHECK(packs_by_iteration(plan) == expected);
  CHECK(plan.placed[4] == PlacedPack{.pack = 4, .first_gpu = 1, .group = 0, .round = 1});
}

TEST_CASE("a short sample that only finds busy blocks of more GPUs gets a set of blocks of its own") {
  // Two samples of CP 2 fill four GPUs; the third needs one GPU, finds no block of one, and then has all
  // four, as Megatron leaves no GPU idle.
  BatchSetting setting;
  setting.groups = {{.capacity_tokens = 2048, .gpus_per_pack = 1},
                    {.capacity_tokens = 4096, .gpus_per_pack = 2},
                    {.capacity_tokens = 8192, .gpus_per_pack = 4}};
  setting.n_gpus = 4;
  setting.tokens_per_iteration = 10000;
  const BatchPlan plan = plan_with("megatron_hybrid_cp", {4096, 4096, 100}, setting);
  REQUIRE(plan.placed.size() == 3);
  CHECK(plan.placed[0] == PlacedPack{.pack = 0, .first_gpu = 0, .group = 1, .round = 0});
  CHECK(plan.placed[1] == PlacedPack{.pack = 1, .first_gpu = 2, .group = 1, .round = 0});
  CHECK(plan.placed[2] ==
        PlacedPack{.pack = 0, .first_gpu = 0, .group = 2, .round = 1, .after_barrier = true});
}

TEST_CASE("on fourteen GPUs Megatron's schedulers leave idle what no block can use") {
  BatchSetting setting;
  for (const int degree : {1, 2, 4, 8}) {
    setting.groups.push_back({.capacity_tokens = 2 * degree, .gpus_per_pack = degree});
  }
  setting.n_gpus = 14;
  setting.tokens_per_iteration = 100;
  for (const char* name : {"megatron_hybrid_cp", "megatron_dynamic_cp"}) {
    INFO(name);
    // Blocks of 4, 4 and 4; one cannot become 8 beside two of 4.
    const BatchPlan plan = plan_with(name, {8, 8, 8}, setting);
    REQUIRE(plan.placed.size() == 3);
    for (std::uint32_t i = 0; i < 3; ++i) {
      CHECK(plan.placed[i] == PlacedPack{.pack = i, .first_gpu = 4 * i, .group = 2, .round = 0});
    }
  }
}

TEST_CASE("Megatron's dynamic scheduler trains later what a pack of all GPUs has no room for") {
  // Three blocks of two GPUs leave two idle, and a block of two cannot become one of eight beside two others.
  // So all eight share a pack: of 10 tokens, two samples of 4. The third gets all GPUs in the next round.
  BatchSetting setting;
  setting.groups = {{.capacity_tokens = 4, .gpus_per_pack = 2}, {.capacity_tokens = 10, .gpus_per_pack = 8}};
  setting.n_gpus = 8;
  setting.tokens_per_iteration = 100;
  const BatchPlan plan = plan_with("megatron_dynamic_cp", {4, 4, 4}, setting);
  CHECK(packs_by_iteration(plan) == std::vector<Packs>{{{0, 1}, {2}}});
  REQUIRE(plan.placed.size() == 2);
  CHECK(plan.placed[0].group == 1);
  CHECK(plan.placed[1].group == 1);
  CHECK(plan.placed[1].round == 1);
}

TEST_CASE("Megatron's schedulers place blocks of any mix of degrees side by side") {
  std::mt19937 draw(31);
  for (int trial = 0; trial < 200; ++trial) {
    BatchSetting setting;
    for (int degree = 1; degree <= 16; degree *= 2)
      setting.groups.push_back({.capacity_tokens = 8192 * degree, .gpus_per_pack = degree});
    setting.n_gpus = 32;
    setting.tokens_per_iteration = 524288;
    Lengths lengths(20 + draw() % 100);
    for (std::int32_t& length : lengths) {
      // Powers of two apart, so that degrees alternate.
      length = static_cast<std::int32_t>(1 + draw() % (8192U << draw() % 5));
    }
    for (const char* name : {"megatron_hybrid_cp", "megatron_dynamic_cp"}) {
      CAPTURE(trial, name);
      // pack() throws where a pack does not lie on GPUs of its own.
      PackRequest request;
      request.lengths_tokens = lengths;
      request.setting = &setting;
      for (const BatchGroup& group : setting.groups)
        request.capacities_tokens.push_back(group.capacity_tokens);
      CHECK_NOTHROW(pack(name, request));
    }
  }
}

TEST_CASE("balancing strategies balance better than next-fit") {
  const Lengths lengths = heavy_tailed_lengths(20000, 23, 16384);
  const BatchSetting setting = ranks_of(16384, 8, 8 * 2 * 16384);
  OptionValues squares;
  squares.set("linear_weight_tokens", 0);
  const auto imbalance = [&](const char* name) {
    return square_imbalance(plan_with(name, lengths, setting, squares), lengths, 8);
  };
  const double next_fit = imbalance("megatron_dp_balanced");
  for (const char* name : {"verl_kk", "slime_kk", "prime_rl", "trl_lpt", "wlb"}) {
    INFO(name << " " << imbalance(name) << " against " << next_fit);
    CHECK(imbalance(name) < next_fit);
  }
}

TEST_CASE("axolotl's packs are first-fit's with a limit of samples") {
  for (const std::uint32_t seed : {24U, 25U}) {
    for (const std::int64_t most : {1, 3, 200}) {
      const Lengths lengths = heavy_tailed_lengths(1500, seed, 65536);
      PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {65536}};
      request.options.set("seed", seed);
      request.options.set("max_samples_per_pack", most);
      Packs expected;
      std::vector<std::int64_t> room;
      for (const ItemIndex item : naive_shuffled(lengths.size(), seed)) {
        std::size_t p = 0;
        while (p < expected.size() && (room[p] < lengths[item] || std::ssize(expected[p]) == most)) ++p;
        if (p == expected.size()) {
          expected.emplace_back();
          room.push_back(65536);
        }
        expected[p].push_back(item);
        room[p] -= lengths[item];
      }
      INFO("seed " << seed << " most " << most);
      CHECK(packs_of(pack("axolotl_multipack", request).groups[0]) == expected);
      if (most == 200) {  // which is the default, and binds here
        request.options.set("max_samples_per_pack", 0);
        CHECK(packs_of(pack("axolotl_multipack", request).groups[0]) == expected);
        CHECK(packs_of(pack("ffs", request).groups[0]) != expected);
      }
    }
  }
}

TEST_CASE("LongAlign's packs are next-fit's, of less than the capacity unless one sample has as much") {
  const Lengths lengths = {4, 4, 2, 8, 3, 5, 1};
  PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {8}};
  request.options.set("shuffle", false);
  // 4 + 4 = 8 is too much; 4 + 2 = 6, and 14 is too much; 8 alone; 3 + 5 = 8 is too much; 5 + 1.
  CHECK(packs_of(pack("longalign", request).groups[0]) == Packs{{0}, {1, 2}, {3}, {4}, {5, 6}});
}

TEST_CASE("the rows of TRL, axolotl and NeMo are known packers in windows of their own") {
  const Lengths lengths = heavy_tailed_lengths(1500, 26, 4096);
  const PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {4096}};
  const auto same = [&](std::string_view a, std::string_view b) {
    return packs_of(pack(a, request).groups[0]) == packs_of(pack(b, request).groups[0]);
  };
  CHECK(same("trl_bfd", "bfd"));
  CHECK(find_strategy("trl_bfd")->default_window_samples == 1000);
  CHECK(find_strategy("axolotl_multipack")->default_window_samples == 100'000);
  CHECK(same("nemo_ffs", "ffs"));
  CHECK(find_strategy("nemo_ffs")->default_window_samples == 0);
  CHECK(find_strategy("bfd")->default_window_samples == 0);
}

}  // namespace packsim::testing
