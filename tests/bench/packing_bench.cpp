// Packing one million samples, on one thread, against the least that any of it could cost: a counting sort
// that turns the same lengths into a sorted permutation. The counter x_floor is the time over that floor's.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <numeric>
#include <random>
#include <vector>

#include "packing/schedule/metrics.hpp"
#include "packing/schedule/schedule.hpp"
#include "tests/bench/one_million_lengths.hpp"

namespace packsim {
namespace {

std::vector<ItemIndex> sorted_by_counting(const Lengths& lengths) {
  std::vector<std::uint32_t> position(static_cast<std::size_t>(*std::ranges::max_element(lengths)) + 2, 0);
  for (const std::int32_t length : lengths) ++position[static_cast<std::size_t>(length) + 1];
  std::partial_sum(position.begin(), position.end(), position.begin());
  std::vector<ItemIndex> order(lengths.size());
  for (std::size_t item = 0; item < lengths.size(); ++item) {
    order[position[static_cast<std::size_t>(lengths[item])]++] = static_cast<ItemIndex>(item);
  }
  return order;
}

// Processor time, so that whoever else runs on the machine does not count.
double processor_s() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Median of 21 runs, measured once.
double floor_s() {
  static const double kFloor = [] {
    // Freeing a block this large tells glibc to keep memory from here on. Until then it returns each array of
    // some megabytes to the system and gets it back page by page, and we would time the kernel.
    benchmark::DoNotOptimize(std::vector<char>(31 << 20));
    std::vector<double> times_s(21);
    for (double& time_s : times_s) {
      const double start_s = processor_s();
      benchmark::DoNotOptimize(sorted_by_counting(one_million_lengths()));
      time_s = processor_s() - start_s;
    }
    std::ranges::nth_element(times_s, times_s.begin() + 10);
    return times_s[10];
  }();
  return kFloor;
}

// Runs `work` once per iteration and reports samples a second and the ratio to the floor.
template <typename Work>
void measure_work(benchmark::State& state, Work work) {
  const double floor = floor_s();
  double total_s = 0;
  for (auto _ : state) {
    const double start_s = processor_s();
    work();
    total_s += processor_s() - start_s;
  }
  const auto n = static_cast<double>(state.iterations());
  state.SetItemsProcessed(state.iterations() * std::ssize(one_million_lengths()));
  state.counters["x_floor"] = total_s / n / floor;
}

void counting_sort(benchmark::State& state) {
  measure_work(state, [] { benchmark::DoNotOptimize(sorted_by_counting(one_million_lengths())); });
}

void std_sort(benchmark::State& state) {
  const Lengths& lengths = one_million_lengths();
  measure_work(state, [&] {
    std::vector<ItemIndex> order(lengths.size());
    std::iota(order.begin(), order.end(), ItemIndex{0});
    std::ranges::sort(order, {}, [&](ItemIndex item) { return std::pair(lengths[item], item); });
    benchmark::DoNotOptimize(order);
  });
}

// What a user waits for: checks of the lengths before and of the packs after included. Over-long samples (2 %
// at 4096 tokens) are dropped.
void pack_all(benchmark::State& state, const char* strategy, std::int64_t capacity_tokens) {
  const PackRequest request{.lengths_tokens = one_million_lengths(),
                            .capacities_tokens = {capacity_tokens},
                            .over_long = OverLong::drop};
  measure_work(state, [&] {
    const Packing packing = pack(strategy, request);
    benchmark::DoNotOptimize(packing.n_packs());
  });
  state.counters["fill"] = pack_statistics(pack(strategy, request)).fill_fraction;
}

// The same with 0 to most_extra images a sample, of which a pack holds so many.
void pack_two_limits(benchmark::State& state, const char* strategy, std::int32_t most_extra,
                     std::int64_t extra_capacity) {
  std::mt19937 generator(1);
  Lengths extra(one_million_lengths().size());
  for (std::int32_t& size : extra)
    size = static_cast<std::int32_t>(generator() % static_cast<std::uint32_t>(most_extra + 1));
  const PackRequest request{.lengths_tokens = one_million_lengths(),
                            .capacities_tokens = {4096},
                            .over_long = OverLong::drop,
                            .extra_sizes = extra,
                            .extra_capacity = extra_capacity};
  measure_work(state, [&] { benchmark::DoNotOptimize(pack(strategy, request).n_packs()); });
  state.counters["packs"] = static_cast<double>(pack(strategy, request).n_packs());
}

// HBP as the paper runs it: ISF in two groups, greedy fill, and the balanced order of each group's packs.
void hbp(benchmark::State& state) {
  const PackRequest request{.lengths_tokens = one_million_lengths(), .capacities_tokens = {16384, 131072}};
  measure_work(state, [&] {
    const Packing packing = pack("hbp", request);
    for (std::size_t group = 0; group < packing.groups.size(); ++group) {
      const std::vector<MicroBatch> batches = micro_batches(packing, group, Padding::none);
      benchmark::DoNotOptimize(balanced_order(batches));
    }
  });
}

BENCHMARK(counting_sort)->Unit(benchmark::kMillisecond);
BENCHMARK(std_sort)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, ffd_131072, "ffd", 131072)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, ffd_4096, "ffd", 4096)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, bfd_131072, "bfd", 131072)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, bfd_4096, "bfd", 4096)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, ffs_131072, "ffs", 131072)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, ffs_4096, "ffs", 4096)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, bfs_131072, "bfs", 131072)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, bfs_4096, "bfs", 4096)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, isf_131072, "isf", 131072)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, isf_16384, "isf", 16384)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, random_131072, "random", 131072)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, spfhp_131072, "spfhp", 131072)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, spfhp_4096, "spfhp", 4096)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, lpfhp_131072, "lpfhp", 131072)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_all, lpfhp_4096, "lpfhp", 4096)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_two_limits, bfd_images, "bfd", 3, 12)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_two_limits, bfd_vision_tokens, "bfd", 1500, 6000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_two_limits, ffd_images, "ffd", 3, 12)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_two_limits, bfs_images, "bfs", 3, 12)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_two_limits, isf_images, "isf", 3, 12)->Unit(benchmark::kMillisecond);
BENCHMARK(hbp)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace packsim
