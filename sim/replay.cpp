#include "sim/replay.hpp"

#include <algorithm>

#include "sim/check_schedule.hpp"
#include "sim/engine.hpp"

namespace packsim {
namespace {

constexpr std::int64_t kProgressEvery = 4096;

// Durations of all packs, and the GPU time of the whole run by cause.
struct Prices {
  std::vector<std::vector<SimTime>> durations;  // [n_groups][n_packs]; those of packs never trained are 0
  MicroBatchTime gpu_s;                         // all occurrences, times the GPUs of a rank
};

// How often the schedule trains each pack: [n_groups][n_packs].
std::vector<std::vector<std::uint32_t>> count_packs(const Schedule& schedule,
                                                    std::span<const std::vector<MicroBatch>> batches) {
  std::vector<std::vector<std::uint32_t>> counts;
  for (const auto& group : batches) counts.emplace_back(group.size(), 0U);
  for (const Iteration& iteration : schedule.iterations) {
    for (const std::uint32_t pack : schedule.packs(iteration)) ++counts[iteration.group][pack];
  }
  return counts;
}

void add_scaled(MicroBatchTime& sum, const MicroBatchTime& time, double factor) {
  sum += {.linear_s = factor * time.linear_s,
          .attention_s = factor * time.attention_s,
          .recompute_s = factor * time.recompute_s,
          .alltoall_s = factor * time.alltoall_s,
          .overhead_s = factor * time.overhead_s};
}

// Asks the cost model once a pack, however often the pack is trained.
Prices price(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches,
             const CostModel& cost_model) {
  const auto counts = count_packs(schedule, batches);
  Prices prices;
  for (std::size_t group = 0; group < batches.size(); ++group) {
    const GroupPlan& plan = schedule.groups[group];
    auto& durations = prices.durations.emplace_back(batches[group].size());
    for (std::size_t pack = 0; pack < durations.size(); ++pack) {
      if (counts[group][pack] == 0) continue;
      const MicroBatchTime time = cost_model.micro_batch(batches[group][pack], plan);
      durations[pack] = sim_time(time.total_s());
      if (durations[pack].ns == 0) continue;
      // The causes share the rounded duration, so that they and the idle time add up to all GPU time.
      const double rounded = to_seconds(durations[pack]) / time.total_s();
      add_scaled(prices.gpu_s, time, rounded * counts[group][pack] * plan.sp_degree);
    }
  }
  return prices;
}

// One iteration as programs. The last barrier takes the iteration's fixed cost to open.
void write_programs(std::span<const std::uint32_t> packs, std::span<const SimTime> durations,
                    std::uint32_t n_ranks, Barrier barrier, SimTime iteration_cost, Programs& programs) {
  programs.clear();
  const std::size_t n_waves = std::max<std::size_t>(1, (packs.size() + n_ranks - 1) / n_ranks);
  if (barrier == Barrier::micro_batch) {
    for (std::size_t wave = 0; wave + 1 < n_waves; ++wave) programs.add_barrier(n_ranks);
  }
  const std::uint32_t last_barrier = programs.add_barrier(n_ranks, iteration_cost);
  for (std::uint32_t rank = 0; rank < n_ranks; ++rank) {
    programs.add_rank();
    for (std::size_t wave = 0; wave < n_waves; ++wave) {
      const std::size_t i = wave * n_ranks + rank;
      if (i < packs.size()) programs.run(durations[packs[i]]);
      if (wave + 1 == n_waves) {
        programs.wait(last_barrier);
      } else if (barrier == Barrier::micro_batch) {
        programs.wait(static_cast<std::uint32_t>(wave));
      }
    }
  }
}

// The smallest value that 99 % of the values do not exceed.
double p99(std::vector<double> values) {
  const std::size_t rank = (99 * values.size() + 99) / 100;
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

void set_fractions(const MicroBatchTime& gpu_s, double fixed_gpu_s, double idle_gpu_s, RunMetrics& metrics) {
  const double all_s = gpu_s.total_s() + fixed_gpu_s + idle_gpu_s;
  if (all_s <= 0) return;
  metrics.linear_fraction = gpu_s.linear_s / all_s;
  metrics.attention_fraction = gpu_s.attention_s / all_s;
  metrics.recompute_fraction = gpu_s.recompute_s / all_s;
  metrics.alltoall_fraction = gpu_s.alltoall_s / all_s;
  metrics.overhead_fraction = (gpu_s.overhead_s + fixed_gpu_s) / all_s;
  metrics.idle_fraction = idle_gpu_s / all_s;
}

}  // namespace

RunMetrics replay(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches,
                  const CostModel& cost_model, Barrier barrier,
                  const std::function<void(std::int64_t)>& progress) {
  std::vector<std::size_t> n_packs;
  for (const auto& group : batches) n_packs.push_back(group.size());
  check_schedule(schedule, n_packs);
  const auto n_iterations = static_cast<std::int64_t>(schedule.iterations.size());
  RunMetrics metrics;
  if (n_iterations == 0) return metrics;

  const Prices prices = price(schedule, batches, cost_model);
  const SimTime iteration_cost = sim_time(cost_model.iteration_s());
  double fixed_gpu_s = 0;
  double idle_gpu_s = 0;
  SimTime now;
  Programs programs;
  Engine engine;
  metrics.step_s.reserve(schedule.iterations.size());
  for (const Iteration& iteration : schedule.iterations) {
    const GroupPlan& plan = schedule.groups[iteration.group];
    write_programs(schedule.packs(iteration), prices.durations[iteration.group],
                   static_cast<std::uint32_t>(plan.n_dp_ranks), barrier, iteration_cost, programs);
    const SimTime end = engine.run(programs, now);

    SimTime idle;
    for (const RankTimes& rank : engine.ranks()) idle += (end - now) - rank.busy - iteration_cost;
    idle_gpu_s += to_seconds(idle) * plan.sp_degree;
    fixed_gpu_s += to_seconds(iteration_cost) * plan.n_dp_ranks * plan.sp_degree;
    metrics.n_events += engine.n_events();
    metrics.step_s.push_back(to_seconds(end - now));
    now = end;

    const auto done = static_cast<std::int64_t>(metrics.step_s.size());
    if (progress && (done % kProgressEvery == 0 || done == n_iterations)) progress(done);
  }
  metrics.total_s = to_seconds(now);
  metrics.step_mean_s = metrics.total_s / static_cast<double>(n_iterations);
  metrics.step_p99_s = p99(metrics.step_s);
  set_fractions(prices.gpu_s, fixed_gpu_s, idle_gpu_s, metrics);
  return metrics;
}

}  // namespace packsim
