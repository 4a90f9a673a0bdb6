#include "packing/schedule/schedule.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "packing/algorithms/shuffle.hpp"
#include "packing/schedule/curriculum.hpp"

namespace packsim {
namespace {

void expect_at_least(std::int64_t least, const std::string& name, std::int64_t value) {
  if (value >= least) return;
  throw std::invalid_argument(name + ": expected >= " + std::to_string(least) + ", got " +
                              std::to_string(value));
}

void expect_one_per_group(const std::string& name, std::size_t n, std::size_t n_groups) {
  if (n == n_groups) return;
  throw std::invalid_argument(name + ": expected one entry for each of " + std::to_string(n_groups) +
                              " groups, got " + std::to_string(n));
}

std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

GroupPlan make_plan(const GroupParallelism& parallelism, std::int64_t capacity_tokens,
                    const ScheduleOptions& options) {
  if (parallelism.gpus_per_pack < 1 || options.n_gpus % parallelism.gpus_per_pack != 0) {
    throw std::invalid_argument("GPUs of a pack (sp_degree): expected a divisor of " +
                                std::to_string(options.n_gpus) + " GPUs, got " +
                                std::to_string(parallelism.gpus_per_pack));
  }
  GroupPlan plan;
  plan.gpus_per_pack = parallelism.gpus_per_pack;
  plan.gc_layers = parallelism.gc_layers;
  plan.n_dp_ranks = options.n_gpus / parallelism.gpus_per_pack;
  plan.micro_batches_per_rank = options.micro_batches_per_rank;
  if (options.tokens_per_iteration > 0) {
    plan.micro_batches_per_rank =
        micro_batches_that_fit(options.tokens_per_iteration, plan.n_dp_ranks, capacity_tokens);
  }
  return plan;
}

// Sorts pack indices by ascending attention work, ties by index.
void sort_by_work(std::vector<std::uint32_t>& order, std::span<const MicroBatch> batches) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> work_and_pack(order.size());
  std::ranges::transform(order, work_and_pack.begin(),
                         [&](std::uint32_t pack) { return std::pair(batches[pack].computed_pairs, pack); });
  std::ranges::sort(work_and_pack);
  std::ranges::transform(work_and_pack, order.begin(), [](const auto& pair) { return pair.second; });
}

// Leaves packs out at the end, or repeats packs from the front, until the iterations are whole.
void fill_last_iteration(std::span<const MicroBatch> batches, std::size_t packs_per_iteration,
                         LastIteration policy, std::vector<std::uint32_t>& order, Schedule& schedule) {
  const std::size_t n_packs = order.size();
  const std::size_t rest = n_packs % packs_per_iteration;
  if (rest == 0 || policy == LastIteration::shorten) return;
  if (policy == LastIteration::drop) {
    for (std::size_t i = n_packs - rest; i < n_packs; ++i) {
      schedule.dropped_tokens += batches[order[i]].tokens;
    }
    schedule.dropped_packs += static_cast<std::int64_t>(rest);
    order.resize(n_packs - rest);
    return;
  }
  for (std::size_t i = 0; i < packs_per_iteration - rest; ++i) {
    order.push_back(order[i % n_packs]);
    schedule.repeated_tokens += batches[order.back()].tokens;
    ++schedule.repeated_packs;
  }
}

// The packs of one group in training order, those of so many light iterations first. What a last iteration
// leaves out or repeats is decided before packs are sorted, or it would be the packs with most or least work,
// in every epoch.
std::vector<std::uint32_t> order_group(std::span<const MicroBatch> batches, const GroupPlan& plan,
                                       const ScheduleOptions& options, std::int64_t light_iterations,
                                       Generator& generator, Schedule& schedule) {
  std::vector<std::uint32_t> order(batches.size());
  std::iota(order.begin(), order.end(), 0U);
  const bool reordered = options.order == PackOrder::shuffled || options.order == PackOrder::balanced;
  if (reordered) shuffle(std::span(order), generator);
  const auto whole = static_cast<std::size_t>(plan.packs_per_iteration());
  fill_last_iteration(batches, whole, options.last_iteration, order, schedule);
  if (options.order == PackOrder::balanced) sort_by_work(order, batches);
  if (light_iterations > 0) {
    const auto n_iterations = std::min(order.size() / whole, static_cast<std::size_t>(light_iterations));
    put_light_packs_first(batches, n_iterations * whole, order);
  }
  return order;
}

// Moves iterations with too few packs to the end of the epoch; returns the others.
std::span<Iteration> put_incomplete_last(const Schedule& schedule, std::span<Iteration> iterations) {
  const auto is_whole = [&](const Iteration& iteration) {
    const GroupPlan& plan = schedule.groups[schedule.packs(iteration).front().group];
    return iteration.n_placed == plan.packs_per_iteration();
  };
  const auto last = std::stable_partition(iterations.begin(), iterations.end(), is_whole);
  return iterations.first(static_cast<std::size_t>(last - iterations.begin()));
}

Generator epoch_generator(const ScheduleOptions& options, int epoch) {
  return Generator(options.seed + static_cast<std::uint32_t>(epoch));
}

// Packs go round the ranks.
void place(std::span<const std::uint32_t> packs, std::size_t group, const GroupPlan& plan,
           std::vector<PlacedPack>& placed) {
  const auto n_ranks = static_cast<std::size_t>(plan.n_dp_ranks);
  for (std::size_t i = 0; i < packs.size(); ++i) {
    placed.push_back(
        {.pack = packs[i],
         .first_gpu = static_cast<std::uint32_t>(i % n_ranks * static_cast<std::size_t>(plan.gpus_per_pack)),
         .group = static_cast<std::uint16_t>(group),
         .round = static_cast<std::uint16_t>(i / n_ranks)});
  }
}

void check_options(const ScheduleOptions& options) {
  expect_at_least(1, "n_gpus", options.n_gpus);
  expect_at_least(1, "micro_batches_per_rank", options.micro_batches_per_rank);
  expect_at_least(1, "epochs", options.epochs);
  expect_at_least(0, "tokens_per_iteration", options.tokens_per_iteration);
  expect_at_least(0, "curriculum_iterations", options.curriculum_iterations);
  if (options.curriculum_iterations > 0 && options.order == PackOrder::as_packed) {
    throw std::invalid_argument(
        "curriculum_iterations: expected 0 with the order as_packed, which no curriculum may change, got " +
        std::to_string(options.curriculum_iterations));
  }
}

}  // namespace

int micro_batches_that_fit(std::int64_t tokens_per_iteration, int n_dp_ranks, std::int64_t capacity_tokens) {
  const std::int64_t wave_tokens = n_dp_ranks * capacity_tokens;
  const std::int64_t fit = std::max<std::int64_t>(tokens_per_iteration / wave_tokens, 1);
  if (fit > kMostMicroBatches) {
    throw std::invalid_argument("tokens_per_iteration: expected at most " +
                                std::to_string(kMostMicroBatches * wave_tokens) + " (" +
                                std::to_string(kMostMicroBatches) + " micro-batches a rank) for packs of " +
                                std::to_string(capacity_tokens) + " tokens on " + std::to_string(n_dp_ranks) +
                                " ranks, got " + std::to_string(tokens_per_iteration));
  }
  return static_cast<int>(fit);
}

std::optional<int> Schedule::gpus_per_pack(const Iteration& iteration) const {
  std::optional<int> common;
  for (const PlacedPack& pack : packs(iteration)) {
    const int own = groups[pack.group].gpus_per_pack;
    if (common.value_or(own) != own) return std::nullopt;
    common = own;
  }
  return common;
}

std::vector<MicroBatch> micro_batches(const Packing& packing, std::size_t group, Padding padding,
                                      std::int64_t pad_multiple_tokens) {
  if (pad_multiple_tokens < 1 || pad_multiple_tokens > kLongestCapacityTokens) {
    throw std::invalid_argument("pad_multiple_tokens: expected 1.." + std::to_string(kLongestCapacityTokens) +
                                ", got " + std::to_string(pad_multiple_tokens));
  }
  const PackSet& packs = packing.groups[group];
  const std::int64_t capacity = packing.capacities_tokens[group];
  std::vector<MicroBatch> batches(packs.n_packs());
  for (std::size_t p = 0; p < packs.n_packs(); ++p) {
    MicroBatch& batch = batches[p];
    for (const ItemIndex item : packs[p]) {
      const std::int64_t length = packing.lengths_tokens[item];
      batch.tokens += length;
      batch.attention_pairs += length * length;
      batch.longest_tokens = std::max(batch.longest_tokens, static_cast<std::int32_t>(length));
    }
    batch.n_items = static_cast<std::int32_t>(packs[p].size());
    // A packed micro-batch is one row of `tokens`; a batch of rows has n_items rows, made equally long.
    const bool rows = packing.strategy->layout == Layout::rows;
    const bool is_one = !rows && packing.attention == Attention::across_samples;
    if (is_one) batch.attention_pairs = batch.tokens * batch.tokens;
    batch.computed_pairs = batch.attention_pairs;
    if (padding == Padding::none) continue;

    const std::int64_t n_rows = rows ? batch.n_items : 1;
    std::int64_t row_tokens = rows ? batch.longest_tokens : batch.tokens;
    if (padding == Padding::capacity) row_tokens = std::max(row_tokens, capacity);
    if (padding == Padding::multiple) row_tokens = round_up(row_tokens, pad_multiple_tokens);
    batch.padded_tokens = n_rows * row_tokens - batch.tokens;
    batch.computed_pairs = rows || is_one ? n_rows * row_tokens * row_tokens
                                          : batch.attention_pairs + batch.padded_tokens * batch.padded_tokens;
  }
  return batches;
}

std::vector<std::uint32_t> balanced_order(std::span<const MicroBatch> batches) {
  std::vector<std::uint32_t> order(batches.size());
  std::iota(order.begin(), order.end(), 0U);
  sort_by_work(order, batches);
  return order;
}

Schedule make_schedule(std::span<const std::vector<MicroBatch>> batches,
                       std::span<const std::int64_t> capacities_tokens,
                       std::span<const GroupParallelism> parallelism, const ScheduleOptions& options) {
  expect_one_per_group("capacities_tokens", capacities_tokens.size(), batches.size());
  expect_one_per_group("parallelism", parallelism.size(), batches.size());
  check_options(options);
  for (const std::int64_t capacity : capacities_tokens) expect_at_least(1, "capacities_tokens", capacity);
  Schedule schedule;
  schedule.n_gpus = options.n_gpus;
  schedule.epochs = options.epochs;
  schedule.curriculum_iterations = options.curriculum_iterations;
  for (std::size_t group = 0; group < batches.size(); ++group) {
    schedule.groups.push_back(make_plan(parallelism[group], capacities_tokens[group], options));
  }
  const ShortIterations short_ones =
      batches.size() > 1 ? ShortIterations::of_first_group : ShortIterations::of_least_work;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    Generator generator = epoch_generator(options, epoch);
    const std::size_t first_iteration = schedule.iterations.size();
    const std::int64_t curriculum = epoch == 0 ? options.curriculum_iterations : 0;
    // Shuffled packs give iterations of about equal work, unless light packs are put together.
    const bool gathers = short_ones == ShortIterations::of_least_work && options.order == PackOrder::shuffled;
    for (std::size_t group = 0; group < batches.size(); ++group) {
      const GroupPlan& plan = schedule.groups[group];
      const std::vector<std::uint32_t> order =
          order_group(batches[group], plan, options, gathers ? curriculum : 0, generator, schedule);
      const auto whole = static_cast<std::size_t>(plan.packs_per_iteration());
      for (std::size_t begin = 0; begin < order.size(); begin += whole) {
        const auto packs = std::span(order).subspan(begin, std::min(whole, order.size() - begin));
        schedule.iterations.push_back({.first_placed = static_cast<std::uint32_t>(schedule.placed.size()),
                                       .n_placed = static_cast<std::uint32_t>(packs.size())});
        place(packs, group, plan, schedule.placed);
      }
    }
    const auto added = std::span(schedule.iterations).subspan(first_iteration);
    if (options.order != PackOrder::as_packed) shuffle(added, generator);
    const std::span<Iteration> whole = put_incomplete_last(schedule, added);
    if (curriculum > 0) start_with_curriculum(schedule, batches, short_ones, curriculum, generator, whole);
  }
  return schedule;
}

Schedule make_schedule(const PlannedIterations& planned, std::span<const std::vector<MicroBatch>> batches,
                       std::span<const GroupParallelism> parallelism, const ScheduleOptions& options) {
  check_options(options);
  Schedule schedule;
  schedule.n_gpus = options.n_gpus;
  schedule.epochs = options.epochs;
  schedule.curriculum_iterations = options.curriculum_iterations;
  schedule.placed = planned.placed;
  ScheduleOptions own = options;
  own.tokens_per_iteration = 0;
  for (const GroupParallelism& group : parallelism) schedule.groups.push_back(make_plan(group, 1, own));
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    Generator generator = epoch_generator(options, epoch);
    const std::size_t first_iteration = schedule.iterations.size();
    schedule.iterations.insert(schedule.iterations.end(), planned.iterations.begin(),
                               planned.iterations.end());
    const auto added = std::span(schedule.iterations).subspan(first_iteration);
    if (options.order != PackOrder::as_packed) shuffle(added, generator);
    if (epoch == 0 && options.curriculum_iterations > 0) {
      start_with_curriculum(schedule, batches, ShortIterations::of_least_work, options.curriculum_iterations,
                            generator, added);
    }
  }
  return schedule;
}

}  // namespace packsim
