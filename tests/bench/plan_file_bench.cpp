// Opening and checking a plan of ten million samples in ten epochs, beside what its bytes cost: reading them
// all once, and their hash.

#include <benchmark/benchmark.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "files/file_bytes.hpp"
#include "files/write_file.hpp"
#include "packing/pack.hpp"
#include "plan_files/plan_bytes.hpp"
#include "plan_files/plan_view.hpp"
#include "plan_files/restore_plan.hpp"
#include "tests/bench/one_million_lengths.hpp"

namespace packsim {
namespace {

constexpr std::int64_t kCapacity_tokens = 131072;

std::vector<std::int32_t> ten_million_lengths() {
  const std::vector<std::int32_t> million = one_million_lengths();
  std::vector<std::int32_t> lengths;
  for (int i = 0; i < 10; ++i) lengths.insert(lengths.end(), million.begin(), million.end());
  return lengths;
}

// Written once for all benchmarks, and removed at the end.
class TenMillionSamples {
 public:
  TenMillionSamples() {
    const std::vector<std::int32_t> lengths = ten_million_lengths();
    const Packing packing = pack("bfd", {.lengths_tokens = lengths, .capacities_tokens = {kCapacity_tokens}});
    const std::vector<std::vector<MicroBatch>> batches = {micro_batches(packing, 0, Padding::none)};
    const std::vector<GroupParallelism> parallelism = {{.gpus_per_pack = 8}};
    const Schedule schedule =
        make_schedule(batches, packing.capacities_tokens, parallelism, {.n_gpus = 64, .epochs = 10});
    PlanFacts facts;
    facts.lengths_hash = hash_of_lengths(lengths);
    write_file(
        path_,
        plan_bytes(
            {.packing = packing, .schedule = schedule, .sequence = {}, .loss_tokens = {}, .facts = facts}));
  }
  ~TenMillionSamples() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "packsim_bench.plan").string();
};

const std::string& plan_path() {
  static const TenMillionSamples plan;
  return plan.path();
}

void count_bytes(benchmark::State& state) {
  const auto size_bytes = static_cast<std::int64_t>(std::filesystem::file_size(plan_path()));
  state.SetBytesProcessed(state.iterations() * size_bytes);
  state.counters["MB"] = static_cast<double>(size_bytes) / 1e6;
}

void plan_open_10m(benchmark::State& state) {
  const std::string& path = plan_path();
  for (auto _ : state) benchmark::DoNotOptimize(PlanView::open(path).content_hash());
  count_bytes(state);
}

// map_from_bytes: a file of at least so many bytes is mapped, and a smaller one read.
void plan_bytes_10m(benchmark::State& state, std::uint64_t map_from_bytes) {
  const RegularFile file(plan_path());
  for (auto _ : state) {
    const FileBytes content(file, map_from_bytes);
    std::uint64_t sum = 0;
    const auto* words = reinterpret_cast<const std::uint64_t*>(content.bytes().data());
    for (std::size_t i = 0; i < content.bytes().size() / sizeof(std::uint64_t); ++i) sum += words[i];
    benchmark::DoNotOptimize(sum);
  }
  count_bytes(state);
}

void plan_check_10m(benchmark::State& state) {
  const PlanView plan = PlanView::open(plan_path());
  for (auto _ : state) {
    if (!broken_promises(*plan).empty()) state.SkipWithError("not a true plan");
  }
  state.counters["placed"] = static_cast<double>(plan->placed.size());
  count_bytes(state);
}

void plan_open_10m_floor_hash(benchmark::State& state) {
  const FileBytes file{RegularFile(plan_path())};
  for (auto _ : state) benchmark::DoNotOptimize(XXH3_64bits(file.bytes().data(), file.bytes().size()));
  count_bytes(state);
}

void plan_restore_10m(benchmark::State& state) {
  const PlanView plan = PlanView::open(plan_path());
  plan.check();  // which restore_plan() does not do again
  for (auto _ : state) benchmark::DoNotOptimize(restore_plan(plan).packing.n_packs());
  count_bytes(state);
}

BENCHMARK(plan_open_10m)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(plan_bytes_10m, map_and_read_once, 0)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(plan_bytes_10m, copy_and_read_once, ~std::uint64_t{0})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(plan_check_10m)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(plan_open_10m_floor_hash)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(plan_restore_10m)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace packsim
