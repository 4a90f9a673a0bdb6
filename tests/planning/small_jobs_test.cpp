// What the planner does for jobs of few samples: random changes, priced by a timer of iterations.

#include "packing/planner/small_jobs/small_job.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "models/pipeline/pipeline_schedule.hpp"
#include "packing/pack.hpp"
#include "tests/planning/random_settings.hpp"
#include "tests/planning/tiny_jobs.hpp"
#include "tests/planning/tiny_settings.hpp"

using namespace packsim;
using namespace packsim::testing;

namespace {

std::vector<std::int32_t> lengths_of(const ComposedPack& pack, std::span<const std::int32_t> lengths) {
  std::vector<std::int32_t> own;
  for (const ItemIndex item : pack.items) own.push_back(lengths[item]);
  return own;
}

// Of packs that a stage trains one after another, in the simulator's order of passes: each runs as soon as
// what it needs is there. All stages but the last take `others` times as long as the last.
class PlainPipeline {
 public:
  PlainPipeline(int n_stages, double others, std::span<const PipelineTime::Pack> packs)
      : n_stages_(n_stages), others_(others), packs_(packs) {
    for (int stage = 0; stage < n_stages; ++stage) {
      orders_.push_back(
          pipeline_order(usual_schedule(1), {n_stages, 1, static_cast<int>(packs.size())}, stage));
    }
  }
  double time_s() {
    double end_s = 0;
    for (int stage = 0; stage < n_stages_; ++stage)
      end_s = std::max(end_s, end_of(stage, orders_[static_cast<std::size_t>(stage)].size() - 1));
    return end_s;
  }

 private:
  // Of one pass of a stage, by its place in the stage's order.
  double end_of(int stage, std::size_t at) {
    const auto known = ends_.find({stage, at});
    if (known != ends_.end()) return known->second;
    const PipelinePass& pass = orders_[static_cast<std::size_t>(stage)][at];
    double start_s = at > 0 ? end_of(stage, at - 1) : 0;
    const int before = pass.is_forward ? stage - 1 : stage + 1;
    if (before >= 0 && before < n_stages_)
      start_s = std::max(start_s, end_of(before, place_of(before, pass)));
    const PipelineTime::Pack& pack = packs_[static_cast<std::size_t>(pass.micro_batch)];
    // A third of the work is forward; the fixed part comes before it.
    const double forward_s = pack.fixed_s + (pack.time_s - pack.fixed_s) / 3;
    const double work_s = pass.is_forward ? forward_s : pack.time_s - forward_s;
    return ends_[{stage, at}] = start_s + (stage + 1 < n_stages_ ? others_ : 1) * work_s;
  }
  std::size_t place_of(int stage, const PipelinePass& pass) const {
    const std::vector<PipelinePass>& order = orders_[static_cast<std::size_t>(stage)];
    const auto is_same = [&](const PipelinePass& other) {
      return other.micro_batch == pass.micro_batch && other.is_forward == pass.is_forward;
    };
    return static_cast<std::size_t>(std::ranges::find_if(order, is_same) - order.begin());
  }

  int n_stages_;
  double others_;
  std::span<const PipelineTime::Pack> packs_;
  std::vector<std::vector<PipelinePass>> orders_;
  std::map<std::pair<int, std::size_t>, double> ends_;
};

double plain_pipeline_s(double fill_rounds, std::span<const PipelineTime::Pack> packs) {
  // 1.5 rounds of filling are two more stages, which take 0.75 of the time of the last.
  const int more = static_cast<int>(std::lround(fill_rounds));
  return PlainPipeline(1 + more, more > 0 ? fill_rounds / more : 1, packs).time_s();
}

// What is sent beside the forward pass of the first pack (a third) and the backward pass of the last, and
// takes longer.
double plain_exposed_s(const BatchSetting& setting, double first_s, double last_s) {
  return std::max(0.0, setting.hidden_s - first_s / 3 - last_s * 2 / 3);
}

// The packs of each GPU, in the order of their rounds.
std::vector<std::vector<const ComposedPack*>> packs_of_gpus(const BatchSetting& setting,
                                                            const DegreeCosts& costs,
                                                            const ComposedIteration& iteration) {
  std::vector<std::vector<const ComposedPack*>> of_gpus(static_cast<std::size_t>(setting.n_gpus));
  for (const ComposedPack& pack : iteration.packs) {
    REQUIRE(pack.first_gpu % costs.gpus_per_pack(pack.degree) == 0);
    for (int gpu = 0; gpu < costs.gpus_per_pack(pack.degree); ++gpu) {
      std::vector<const ComposedPack*>& own = of_gpus.at(static_cast<std::size_t>(pack.first_gpu + gpu));
      // No GPU has two packs in a round, or skips one.
      REQUIRE(pack.round == static_cast<int>(own.size()));
      own.push_back(&pack);
    }
  }
  return of_gpus;
}

// Time of an iteration by its packs and their places alone.
double plain_iteration_s(const BatchSetting& setting, const DegreeCosts& costs,
                         const ComposedIteration& iteration) {
  const auto of_gpus = packs_of_gpus(setting, costs, iteration);
  double time_s = 0;
  if (setting.rounds_in_step) {
    std::vector<double> rounds;
    for (const ComposedPack& pack : iteration.packs) {
      rounds.resize(std::max(rounds.size(), static_cast<std::size_t>(pack.round) + 1));
      double& round_s = rounds[static_cast<std::size_t>(pack.round)];
      round_s = std::max(round_s, pack.time_s);
    }
    const double sum_s = std::reduce(rounds.begin(), rounds.end());
    return sum_s + setting.rounds.fill_rounds * sum_s / static_cast<double>(rounds.size()) +
           plain_exposed_s(setting, rounds.front(), rounds.back());
  }
  for (const std::vector<const ComposedPack*>& own : of_gpus) {
    if (own.empty()) continue;
    std::vector<PipelineTime::Pack> packs;
    for (const ComposedPack* pack : own)
      packs.push_back({pack->time_s, std::min(pack->time_s, costs.tokens_s(pack->degree, 1))});
    time_s = std::max(time_s, plain_pipeline_s(setting.rounds.fill_rounds, packs) +
                                  plain_exposed_s(setting, packs.front().time_s, packs.back().time_s));
  }
  return time_s;
}

double plain_total_s(const BatchSetting& setting, const DegreeCosts& costs,
                     std::span<const ComposedIteration> iterations) {
  double total_s = 0;
  for (const ComposedIteration& iteration : iterations)
    total_s += plain_iteration_s(setting, costs, iteration) + setting.step_s;
  return total_s;
}

std::vector<ComposedIteration> small_job(const BatchSetting& setting, const DegreeCosts& costs,
                                         std::span<const std::int32_t> lengths,
                                         std::span<const ComposedIteration> given,
                                         const IterationLimits& limits) {
  const BatchProblem problem{.items = {.lengths_tokens = lengths, .capacity_tokens = costs.most_tokens(0)},
                             .setting = setting};
  return plan_small_job(problem, costs, all_of(lengths), given, limits);
}

// Every sample once, in packs of at most their degree's length, at their price; iterations within limits.
void check_iterations(const BatchSetting& setting, const DegreeCosts& costs,
                      std::span<const std::int32_t> lengths, std::span<const ComposedIteration> iterations,
                      const IterationLimits& limits) {
  std::vector<ItemIndex> trained;
  for (const ComposedIteration& iteration : iterations) {
    std::int64_t tokens = 0;
    double gpu_s = 0;
    for (const ComposedPack& pack : iteration.packs) {
      const std::vector<std::int32_t> own = lengths_of(pack, lengths);
      const std::int64_t pack_tokens = std::reduce(own.begin(), own.end());
      REQUIRE(!own.empty());
      REQUIRE(pack_tokens <= costs.most_tokens(pack.degree));
      const PackCost& cost = setting.groups[costs.group_of(pack.degree, pack_tokens)].cost;
      REQUIRE(pack.time_s == Approx(pack_time_s(cost, own)).epsilon(1e-12));
      if (setting.one_degree) REQUIRE(pack.degree == iteration.packs.front().degree);
      trained.insert(trained.end(), pack.items.begin(), pack.items.end());
      gpu_s += costs.gpus_per_pack(pack.degree) * pack.time_s;
      tokens += pack_tokens;
    }
    REQUIRE(!iteration.packs.empty());
    const bool is_one_item = iteration.packs.size() == 1 && iteration.packs.front().items.size() == 1;
    REQUIRE((tokens <= limits.most_tokens || is_one_item));
    REQUIRE(iteration.gpu_s == Approx(gpu_s));
  }
  std::ranges::sort(trained);
  REQUIRE(trained == all_of(lengths));
}

bool are_same(std::span<const ComposedIteration> one, std::span<const ComposedIteration> other) {
  const auto same_pack = [](const ComposedPack& a, const ComposedPack& b) {
    return a.degree == b.degree && a.first_gpu == b.first_gpu && a.round == b.round && a.items == b.items &&
           a.time_s == b.time_s;
  };
  return std::ranges::equal(one, other, [&](const ComposedIteration& a, const ComposedIteration& b) {
    return a.time_s == b.time_s && std::ranges::equal(a.packs, b.packs, same_pack);
  });
}

// The least time of every set of samples as one iteration: all packs, degrees, places and orders.
class PlainOptimum {
 public:
  PlainOptimum(const TinyJob& job, const Ties& ties)
      : job_(job), ties_(ties), all_((1U << job.lengths_tokens.size()) - 1) {
    iteration_s_.assign(all_ + 1, kInfinite_s);
    const bool is_free = !ties.rounds_in_step && !ties.one_degree;
    if (is_free) {
      for (Samples samples = 1; samples <= all_; ++samples)
        iteration_s_[samples] = BestIteration(job, samples).time_s();
      return;
    }
    if (ties.rounds_in_step && !ties.one_degree) of_rounds(0, job.degrees.size());
    for (std::size_t d = 0; ties.one_degree && d < job.degrees.size(); ++d) {
      if (ties.rounds_in_step) {
        of_rounds(d, d + 1);
      } else {
        of_ranks(d);
      }
    }
  }

  double epoch_s() const {
    std::vector<double> epoch_s(all_ + 1, kInfinite_s);
    epoch_s[0] = 0;
    for (Samples samples = 1; samples <= all_; ++samples) {
      for (Samples last = samples; last != 0; last = (last - 1) & samples) {
        if (tokens_of(job_, last) > job_.tokens_per_iteration) continue;
        epoch_s[samples] =
            std::min(epoch_s[samples], epoch_s[samples & ~last] + iteration_s_[last] + job_.step_s);
      }
    }
    return epoch_s[all_];
  }

 private:
  // Packs of the degrees [first, last) in rounds that all GPUs begin together.
  void of_rounds(std::size_t first, std::size_t last) {
    // [GPUs left][samples]: the longest pack.
    std::vector<std::vector<double>> round_s(static_cast<std::size_t>(job_.n_gpus) + 1,
                                             std::vector<double>(all_ + 1, kInfinite_s));
    for (std::size_t left = 0; left < round_s.size(); ++left) {
      round_s[left][0] = 0;
      for (Samples samples = 1; samples <= all_; ++samples) {
        for (Samples pack = samples; pack != 0; pack = (pack - 1) & samples) {
          for (std::size_t d = first; d < last; ++d) {
            const auto width = static_cast<std::size_t>(job_.degrees[d]);
            if (width > left) continue;
            const double time_s = std::max(pack_s(job_, d, pack), round_s[left - width][samples & ~pack]);
            round_s[left][samples] = std::min(round_s[left][samples], time_s);
          }
        }
      }
    }
    std::vector<double> sum_s(all_ + 1, kInfinite_s);  // of n rounds
    sum_s[0] = 0;
    for (std::size_t n = 1; n <= job_.lengths_tokens.size(); ++n) {
      std::vector<double> next_s(all_ + 1, kInfinite_s);
      for (Samples samples = 1; samples <= all_; ++samples) {
        for (Samples round = samples; round != 0; round = (round - 1) & samples)
          next_s[samples] = std::min(next_s[samples], sum_s[samples & ~round] + round_s.back()[round]);
        const double time_s = next_s[samples] * (1 + ties_.fill_rounds / static_cast<double>(n));
        iteration_s_[samples] = std::min(iteration_s_[samples], time_s);
      }
      sum_s = next_s;
    }
  }

  // Ranks that run packs of one degree through their pipelines and meet at the end.
  void of_ranks(std::size_t d) {
    std::vector<double> rank_s(all_ + 1, kInfinite_s);
    rank_s[0] = 0;
    for (Samples samples = 1; samples <= all_; ++samples) {
      std::vector<PipelineTime::Pack> packs;
      try_orders(d, samples, packs, rank_s[samples]);
    }
    std::vector<double> time_s = rank_s;
    for (int n = 2; n <= job_.n_gpus / job_.degrees[d]; ++n) {
      std::vector<double> next_s = time_s;
      for (Samples samples = 1; samples <= all_; ++samples) {
        for (Samples rank = samples; rank != 0; rank = (rank - 1) & samples)
          next_s[samples] = std::min(next_s[samples], std::max(rank_s[rank], time_s[samples & ~rank]));
      }
      time_s = next_s;
    }
    for (Samples samples = 1; samples <= all_; ++samples)
      iteration_s_[samples] = std::min(iteration_s_[samples], time_s[samples]);
  }

  void try_orders(std::size_t d, Samples left, std::vector<PipelineTime::Pack>& packs, double& best_s) {
    if (left == 0) best_s = std::min(best_s, PipelineTime({.fill_rounds = ties_.fill_rounds}).of(packs));
    for (Samples pack = left; pack != 0; pack = (pack - 1) & left) {
      const double time_s = pack_s(job_, d, pack);
      if (time_s >= best_s) continue;
      const auto one_token = static_cast<std::size_t>(1);  // as the fixed part of a pack
      packs.push_back({time_s, std::min(time_s, job_.pack_s[d][one_token])});
      try_orders(d, left & ~pack, packs, best_s);
      packs.pop_back();
    }
  }

  const TinyJob& job_;
  const Ties& ties_;
  Samples all_;
  std::vector<double> iteration_s_;
};

}  // namespace

TEST_CASE("A pipeline takes what its passes take one after another (1F1B)") {
  // Two stages, packs of 3 s and 6 s, a third of them forward. The second stage runs forward 1..2, backward
  // 2..4, forward 4..6 and backward 6..10; the first ends with the second pack's backward pass, 10..14.
  const std::vector<PipelineTime::Pack> two = {{3, 0}, {6, 0}};
  CHECK(PipelineTime({.fill_rounds = 1}).of(two) == Approx(14));
  // The fixed second of each pack comes before its forward pass: 3 + 6 s are 5/3 and 8/3 forward, 4/3 and
  // 10/3 backward. 5/3 + (3 + 6) + 10/3.
  CHECK(PipelineTime({.fill_rounds = 1}).of({{{3, 1}, {6, 1}}}) == Approx(14));
  CHECK(PipelineTime({}).of(two) == Approx(9));
  // The first stage takes half as long: 0.5 + 9 + 2.
  CHECK(PipelineTime({.fill_rounds = 0.5}).of(two) == Approx(11.5));

  SmallDraws draws(3);
  for (int i = 0; i < 500; ++i) {
    std::vector<PipelineTime::Pack> packs;
    for (int n = 1 + draws.below(7); n > 0; --n) {
      const double time_s = draws.below(3) == 0 ? 10 * draws.part() : draws.part();
      packs.push_back({time_s, time_s * draws.part() * draws.below(2)});
    }
    const double fill_rounds = draws.below(2) == 0 ? draws.below(5) : 4 * draws.part();
    CAPTURE(i, fill_rounds, packs.size());
    REQUIRE(PipelineTime({.fill_rounds = fill_rounds}).of(packs) ==
            Approx(plain_pipeline_s(fill_rounds, packs)).epsilon(1e-12));
  }
}

TEST_CASE("Random changes never make a plan slower, lose no sample and keep all limits", "[plain]") {
  // Percent that plans take above their work divided evenly, the mean of eight. Measured with this code, and
  // the same on any machine: whoever changes the planner writes the new numbers here. Fewer are better.
  constexpr std::array<double, kTies.size()> kExcessPercent = {1.3313, 1.2904,  1.5459,
                                                               1.5044, 97.7285, 38.0305};
  for (std::size_t t = 0; t < kTies.size(); ++t) {
    const Ties& ties = kTies[t];
    SmallDraws draws(7);
    double excess_percent = 0;
    for (int i = 0; i < 8; ++i) {
      const BatchSetting setting = random_setting(draws, ties);
      const DegreeCosts costs(setting.groups);
      const std::vector<std::int32_t> lengths = random_samples(draws, setting, 1 + draws.below(40));
      const IterationLimits limits = limits_of(setting, lengths);
      RandomChanges changes(setting, costs, lengths, limits);
      const double start_s = changes.start(plain_start(costs, lengths, setting.tokens_per_iteration));
      // Places are found anew: as they are at the start, by their own time.
      const std::vector<ComposedIteration> start = changes.iterations();
      CAPTURE(ties.name, i, lengths);
      REQUIRE(start_s == Approx(plain_total_s(setting, costs, start)).epsilon(1e-12));
      const std::vector<ComposedIteration> planned = small_job(setting, costs, lengths, start, limits);
      check_iterations(setting, costs, lengths, planned, limits);
      REQUIRE(std::ssize(planned) >= std::min<std::int64_t>(limits.fewest, std::ssize(start)));
      for (const ComposedIteration& iteration : planned)
        REQUIRE(iteration.time_s == Approx(plain_iteration_s(setting, costs, iteration)).epsilon(1e-12));
      REQUIRE(std::ssize(planned) <= std::max<std::int64_t>(limits.most, std::ssize(start)));
      if (std::ssize(start) <= limits.most)
        REQUIRE(plain_total_s(setting, costs, planned) <= start_s * (1 + 1e-12));
      const double even_s = even_time_s(costs, lengths, all_of(lengths), setting.n_gpus);
      excess_percent += 100.0 / 8 * (plain_total_s(setting, costs, planned) / even_s - 1);
      if (i > 0) continue;
      // What it planned itself it does not make worse either.
      const std::vector<ComposedIteration> again = small_job(setting, costs, lengths, planned, limits);
      REQUIRE(plain_total_s(setting, costs, again) <= plain_total_s(setting, costs, planned) * (1 + 1e-12));
    }
    CAPTURE(ties.name);
    CHECK(excess_percent == Approx(kExcessPercent[t]).margin(1e-4));
  }
}

TEST_CASE("A small job has no more iterations than its tokens need, even if more take as long") {
  // Six samples of 10 tokens, each of which takes 1 s on the only GPU, whatever it is together with.
  BatchSetting setting;
  setting.tokens_per_iteration = 20;
  setting.groups = {{.capacity_tokens = 10, .gpus_per_pack = 1}};
  setting.groups[0].cost.tokens_s = {.tokens = {0, 10}, .time_s = {0, 1}};
  const DegreeCosts costs(setting.groups);
  const std::vector<std::int32_t> lengths(6, 10);
  const std::vector<ComposedIteration> given = plain_start(costs, lengths, 10);
  REQUIRE(given.size() == 6);
  IterationLimits limits = iteration_limits(60, {20, 10});
  CHECK(limits.most == 4);
  const std::vector<ComposedIteration> planned = small_job(setting, costs, lengths, given, limits);
  CHECK(planned.size() <= 4);
  CHECK(plain_total_s(setting, costs, planned) == Approx(6));
  limits.most = 6;
  CHECK(small_job(setting, costs, lengths, given, limits).size() == 6);
}

TEST_CASE("A small job gets the same plan every time", "[plain]") {
  for (const Ties& ties : kTies) {
    SmallDraws draws(17);
    const BatchSetting setting = random_setting(draws, ties);
    const DegreeCosts costs(setting.groups);
    const std::vector<std::int32_t> lengths = random_samples(draws, setting, 30);
    const IterationLimits limits = limits_of(setting, lengths);
    const std::vector<ComposedIteration> start = plain_start(costs, lengths, setting.tokens_per_iteration);
    const std::vector<ComposedIteration> planned = small_job(setting, costs, lengths, start, limits);
    CAPTURE(ties.name);
    CHECK(are_same(planned, small_job(setting, costs, lengths, start, limits)));
    // By new prices, as in another process.
    const DegreeCosts new_costs(setting.groups);
    CHECK(are_same(planned, small_job(setting, new_costs, lengths, start, limits)));
  }
}

// Tokens of an iteration are exceeded by a sample only by a small job.
TEST_CASE("Jobs of 513 samples, with a window or interleaved pipelines are not planned as small ones") {
  // Samples of 10 tokens on one GPU; an iteration takes 1 000 s more than its packs. Iterations of 2 555
  // tokens are three for 512 samples, and two of 2 560 have half a sample more.
  BatchSetting setting;
  setting.tokens_per_iteration = 2555;
  setting.step_s = 1000;
  setting.one_degree = true;
  setting.groups = {{.capacity_tokens = 100, .gpus_per_pack = 1}};
  setting.groups[0].cost.tokens_s = {.tokens = {0, 100}, .time_s = {1, 11}};
  setting.groups[0].cost.document_s = {.tokens = {0, 100}, .time_s = {0, 1}};
  const auto n_iterations = [&](std::size_t n_samples, int window_iterations, const RoundShape& shape) {
    setting.rounds = shape;
    const std::vector<std::int32_t> lengths(n_samples, 10);
    PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {100}, .setting = &setting};
    request.options.set("window_iterations", window_iterations);
    return pack("planner", request).planned.iterations.size();
  };
  CHECK(kMostItemsOfSmallJob == 512);
  CHECK(n_iterations(512, 0, {}) == 2);
  CHECK(n_iterations(513, 0, {}) == 3);
  CHECK(n_iterations(512, 1, {}) == 3);
  CHECK(n_iterations(512, 0, {.fill_rounds = 0.5, .multiple = 2}) == 3);
}

TEST_CASE("Iterations of a small job are not fewer where they are many, and little larger than asked for") {
  const IterationSize size{1000, 500};
  // 10 001 tokens in iterations of 1 000: 11 are asked for, so there are 11.
  CHECK(iteration_limits(10'001, size).fewest == 11);
  CHECK(iteration_limits(10'001, size).most_tokens == 1100);
  // 10 000 tokens: 10 are asked for, and 1 100 tokens each are 9.1.
  CHECK(iteration_limits(10'000, size).fewest == 10);
  // 3 300 tokens: 4 are asked for, 3 of 1 100 are enough.
  CHECK(iteration_limits(3300, size).fewest == 3);
  CHECK(iteration_limits(3301, size).fewest == 4);
  // Of samples of at most 20 tokens, 3 060.
  CHECK(iteration_limits(3060, {1000, 20}).fewest == 3);
  CHECK(iteration_limits(3061, {1000, 20}).fewest == 4);
}

TEST_CASE("Random changes reach the optimum of most jobs of up to six samples", "[slow]") {
  for (const Ties& ties : kTies) {
    Jobs jobs;
    int n_optimal = 0;
    double sum = 0;
    double worst = 0;
    constexpr int kJobs = 20;
    for (int i = 0; i < kJobs;) {
      const TinyJob job = jobs.next(1);
      if (job.n_gpus == 1 || job.lengths_tokens.size() < 3) continue;
      ++i;
      BatchSetting setting = setting_of(job);
      tie(setting, ties);
      const DegreeCosts costs(setting.groups);
      const IterationLimits limits = {.most_tokens = job.tokens_per_iteration, .fewest = 1};
      const std::vector<ComposedIteration> planned =
          small_job(setting, costs, job.lengths_tokens,
                    plain_start(costs, job.lengths_tokens, job.tokens_per_iteration), limits);
      check_iterations(setting, costs, job.lengths_tokens, planned, limits);
      const double ours_s = plain_total_s(setting, costs, planned);
      const double best_s = PlainOptimum(job, ties).epoch_s();
      CAPTURE(ties.name, i, ours_s, best_s);
      REQUIRE(ours_s >= best_s * (1 - 1e-9));
      n_optimal += ours_s <= best_s * (1 + 1e-9) ? 1 : 0;
      sum += ours_s / best_s - 1;
      worst = std::max(worst, ours_s / best_s - 1);
    }
    CAPTURE(ties.name, n_optimal, sum / kJobs, worst);
    // 15 to 20 of 20 are optimal; the others are 0.53 % above the optimum on average and 3.9 % at worst.
    CHECK(n_optimal >= 15);
    CHECK(sum / kJobs < 0.006);
    CHECK(worst < 0.04);
  }
}
