// Opening a plan of ten million samples, beside what its bytes cost: reading them all once, and their hash.

#include <benchmark/benchmark.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "files/write_file.hpp"
#include "packing/pack.hpp"
#include "plan_files/map_file.hpp"
#include "plan_files/plan_bytes.hpp"
#include "plan_files/plan_view.hpp"
#include "plan_files/restore_plan.hpp"
#include "tests/bench/one_million_lengths.hpp"

namespace packsim {
namespace {

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
    const Packing packing = pack("bfd", {.lengths_tokens = lengths, .capacities_tokens = {131072}});
    const std::vector<std::vector<MicroBatch>> batches = {micro_batches(packing, 0, Padding::none)};
    const std::vector<GroupParallelism> parallelism = {{.gpus_per_pack = 8}};
    const Schedule schedule =
        make_schedule(batches, packing.capacities_tokens, parallelism, {.n_gpus = 64, .epochs = 2});
    write_file(
        path_,
        plan_bytes(
            {.packing = packing, .schedule = schedule, .sequence = {}, .loss_tokens = {}, .facts = {}}));
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

void plan_open_10m_floor_map_and_read(benchmark::State& state) {
  const std::string& path = plan_path();
  for (auto _ : state) {
    const MappedFile file(path);
    std::uint64_t sum = 0;
    const auto* words = reinterpret_cast<const std::uint64_t*>(file.bytes().data());
    for (std::size_t i = 0; i < file.bytes().size() / sizeof(std::uint64_t); ++i) sum += words[i];
    benchmark::DoNotOptimize(sum);
  }
  count_bytes(state);
}

void plan_open_10m_floor_hash(benchmark::State& state) {
  const MappedFile file(plan_path());
  for (auto _ : state) benchmark::DoNotOptimize(XXH3_64bits(file.bytes().data(), file.bytes().size()));
  count_bytes(state);
}

void plan_restore_10m(benchmark::State& state) {
  const PlanView plan = PlanView::open(plan_path());
  for (auto _ : state) benchmark::DoNotOptimize(restore_plan(plan).packing.n_packs());
  count_bytes(state);
}

BENCHMARK(plan_open_10m)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(plan_open_10m_floor_map_and_read)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(plan_open_10m_floor_hash)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(plan_restore_10m)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace packsim
