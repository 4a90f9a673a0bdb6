// Drawing from a mixture and packing the draws, beside the least that any of it could cost: reading the
// lengths of the draws by their index.

#include <benchmark/benchmark.h>

#include <numeric>
#include <vector>

#include "packing/mixing/mixture.hpp"
#include "packing/stream_packer.hpp"
#include "tests/bench/one_million_lengths.hpp"

namespace packsim {
namespace {

constexpr std::size_t kWindow = 1024;

// A million samples in 8 subsets of 4 groups.
Mixture mixture_of_a_million(std::string_view policy) {
  const std::size_t n = one_million_lengths().size();
  std::vector<std::uint32_t> subset_of(n);
  std::vector<std::uint32_t> group_of(n);
  for (std::size_t i = 0; i < n; ++i) {
    subset_of[i] = static_cast<std::uint32_t>(i % 8);
    group_of[i] = static_cast<std::uint32_t>(i / 8 % 4);
  }
  return {Arms(subset_of, group_of), policy, {}, Replacement::with};
}

void set_rates(benchmark::State& state) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(kWindow));
}

void mixture_floor(benchmark::State& state) {
  const Lengths& lengths = one_million_lengths();
  std::size_t at = 0;
  for (auto _ : state) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kWindow; ++i) sum += lengths[at = (at + 611'953) % lengths.size()];
    benchmark::DoNotOptimize(sum);
  }
  set_rates(state);
}
BENCHMARK(mixture_floor);

void mixture_draw(benchmark::State& state) {
  Mixture mixture = mixture_of_a_million("hbo");
  for (auto _ : state) benchmark::DoNotOptimize(mixture.draw(kWindow, 0));
  set_rates(state);
}
BENCHMARK(mixture_draw);

void mixture_draw_and_pack(benchmark::State& state) {
  Mixture mixture = mixture_of_a_million("hbo");
  const std::int64_t capacity_tokens = state.range(0);
  StreamPacker packer({.strategy = "bfd",
                       .capacity_tokens = capacity_tokens,
                       .window_samples = kWindow,
                       .over_long = OverLong::truncate});
  std::vector<std::int32_t> lengths(kWindow);
  for (auto _ : state) {
    const std::vector<MixtureDraw> draws = mixture.draw(kWindow, 0);
    for (std::size_t i = 0; i < draws.size(); ++i) lengths[i] = one_million_lengths()[draws[i].sample];
    benchmark::DoNotOptimize(packer.push(lengths));
  }
  set_rates(state);
}
BENCHMARK(mixture_draw_and_pack)->Arg(8192)->Arg(131072);

void mixture_update(benchmark::State& state) {
  Mixture mixture = mixture_of_a_million("hbo");
  MixtureRewards rewards{.subsets = std::vector<double>(8, 1.0), .groups = {}};
  rewards.subsets[0] = 2;
  rewards.groups.assign(8, {1, 2, 1, 1});
  for (auto _ : state) mixture.update(rewards);
}
BENCHMARK(mixture_update);

}  // namespace
}  // namespace packsim
