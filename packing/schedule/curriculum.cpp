#include "packing/schedule/curriculum.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "packing/algorithms/shuffle.hpp"

namespace packsim {
namespace {

// Moves the n values of least work to the front, ties in their order. Both parts keep their order.
template <typename Value, typename WorkOf>
void put_least_work_first(std::size_t n, const WorkOf& work_of, std::span<Value> values) {
  std::vector<std::pair<std::int64_t, std::size_t>> ranked;  // work, position
  for (const Value& value : values) ranked.emplace_back(work_of(value), ranked.size());
  const auto others = ranked.begin() + static_cast<std::ptrdiff_t>(n);
  std::nth_element(ranked.begin(), others, ranked.end());
  const auto by_position = [](const auto& a, const auto& b) { return a.second < b.second; };
  std::sort(ranked.begin(), others, by_position);
  std::sort(others, ranked.end(), by_position);
  const std::vector<Value> before(values.begin(), values.end());
  std::ranges::transform(ranked, values.begin(), [&](const auto& entry) { return before[entry.second]; });
}

void expect_at_most(std::int64_t most, const std::string& what, std::int64_t wanted) {
  if (wanted <= most) return;
  throw std::invalid_argument("curriculum_iterations: expected at most " + std::to_string(most) +
                              ", the number of whole iterations of " + what + " in an epoch, got " +
                              std::to_string(wanted));
}

// Moves the first `wanted` iterations of the first group to the front.
void put_first_group_first(const Schedule& schedule, std::int64_t wanted, std::span<Iteration> iterations) {
  const auto is_short = [&](const Iteration& iteration) {
    return schedule.packs(iteration).front().group == 0;
  };
  expect_at_most(std::ranges::count_if(iterations, is_short), "the shortest group", wanted);
  std::int64_t moved = 0;
  std::stable_partition(iterations.begin(), iterations.end(),
                        [&](const Iteration& iteration) { return is_short(iteration) && moved++ < wanted; });
}

void put_lightest_first(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches,
                        std::int64_t wanted, std::span<Iteration> iterations) {
  expect_at_most(std::ssize(iterations), "the strategy", wanted);
  const auto work_of = [&](const Iteration& iteration) {
    std::int64_t work_pairs = 0;
    for (const PlacedPack& placed : schedule.packs(iteration))
      work_pairs += batches[placed.group][placed.pack].computed_pairs;
    return work_pairs;
  };
  put_least_work_first(static_cast<std::size_t>(wanted), work_of, iterations);
}

}  // namespace

void put_light_packs_first(std::span<const MicroBatch> batches, std::size_t n,
                           std::span<std::uint32_t> order) {
  put_least_work_first(
      n, [&](std::uint32_t pack) { return batches[pack].computed_pairs; }, order);
}

void start_with_curriculum(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches,
                           ShortIterations short_ones, std::int64_t wanted, Generator& generator,
                           std::span<Iteration> iterations) {
  if (short_ones == ShortIterations::of_first_group) {
    put_first_group_first(schedule, wanted, iterations);
  } else {
    put_lightest_first(schedule, batches, wanted, iterations);
  }
  // The long iterations that stood before the short ones would otherwise follow in one block.
  shuffle(iterations.subspan(static_cast<std::size_t>(wanted)), generator);
}

}  // namespace packsim
