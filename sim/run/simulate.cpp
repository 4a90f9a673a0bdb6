#include "sim/run/simulate.hpp"

#include <algorithm>
#include <numeric>

#include "sim/engine/op_account.hpp"
#include "sim/run/iteration_ranks.hpp"
#include "sim/run/plain_steps.hpp"
#include "sim/run/run_step.hpp"
#include "sim/run/step_memory.hpp"

namespace packsim {
namespace {

constexpr std::int64_t kProgressEvery = 256;

// The smallest value that 99 % of the values do not exceed.
double p99(std::vector<double> values) {
  const std::size_t rank = (99 * values.size() + 99) / 100;
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

// Takes what a lane does inside exchanges of experts out of the time of these exchanges.
void account_inside(const InsideTime& inside, RankAccount& account) {
  const SimTime computed{inside.computed_ns};
  const SimTime idle{inside.idle_ns};
  SimTime& exposed = account.exposed[static_cast<std::size_t>(Cause::expert)];
  exposed = exposed - computed - idle;
  // As all computation of a lane that makes no operations of single causes.
  account.busy[static_cast<std::size_t>(Cause::linear)] += computed;
  account.idle += idle;
}

// GPU seconds of the whole run.
struct GpuTime {
  std::array<double, kNCauses> by_cause = {};
  double idle = 0;

  // One lane in one step, which stands for so many GPUs. work: what it takes where nothing slows it down.
  void add(const WorkTime& work, const RankAccount& account, StepDetail detail, double gpus) {
    double scale = 0;
    if (detail == StepDetail::micro_batches && work.total_ns > 0) {
      // Operations are of several causes; what slows them down, slows all of these down.
      SimTime busy;
      for (const SimTime time : account.busy) busy += time;
      scale = static_cast<double>(busy.ns) / static_cast<double>(work.total_ns);
    }
    for (std::size_t c = 0; c < by_cause.size(); ++c) {
      const double busy_s = detail == StepDetail::stages
                                ? to_seconds(account.busy[c])
                                : 1e-9 * scale * static_cast<double>(work.by_cause_ns[c]);
      by_cause[c] += gpus * (busy_s + to_seconds(account.exposed[c]));
    }
    idle += gpus * to_seconds(account.idle);
  }

  void write(SimulatedRun& run) const {
    const double all = std::accumulate(by_cause.begin(), by_cause.end(), idle);
    if (all <= 0) return;
    for (std::size_t c = 0; c < by_cause.size(); ++c) run.fraction[c] = by_cause[c] / all;
    run.idle_fraction = idle / all;
  }
};

}  // namespace

SimulatedRun simulate(const Schedule& schedule, std::span<const PricedGroup> groups,
                      const SimulationOptions& options, const std::function<void(std::int64_t)>& progress) {
  const auto n_iterations = static_cast<std::int64_t>(schedule.iterations.size());
  SimulatedRun run;
  IterationRanks iteration_ranks(schedule, groups, options);
  if (n_iterations == 0) return run;

  StepArena arena({.detail = options.detail, .topology = options.topology, .slow_down = options.slow_down});
  OpAccount account;
  PlainSteps plain_steps;
  const bool may_be_plain = options.adds_up_plain_steps && options.detail == StepDetail::micro_batches &&
                            options.topology == nullptr && options.slow_down == 1;
  GpuTime gpu_time;
  SimTime now;
  run.step_s.reserve(schedule.iterations.size());
  for (std::size_t i = 0; i < schedule.iterations.size(); ++i) {
    const std::span<const RankWork> ranks = iteration_ranks.of(i);
    if (options.detail == StepDetail::stages)
      require_memory(estimated_step_bytes(ranks, false), options.most_step_bytes);
    SimTime end;
    if (const PlainStep* step = may_be_plain ? plain_steps.find(ranks) : nullptr) {
      for (std::size_t r = 0; r < ranks.size(); ++r)
        gpu_time.add(step->work[r], step->accounts[r], options.detail, iteration_ranks.gpus_of_lane(r));
      end = now + SimTime{step->time_ns};
    } else {
      const StepRun simulated = run_step(ranks, arena, now);
      take_account(simulated.graph, simulated.engine, account);
      const std::size_t n_stages = simulated.work.size() / ranks.size();
      for (std::size_t lane = 0; lane < simulated.work.size(); ++lane) {
        account_inside(simulated.inside[lane], account.ranks[lane]);
        gpu_time.add(simulated.work[lane], account.ranks[lane], options.detail,
                     iteration_ranks.gpus_of_lane(lane / n_stages));
      }
      run.n_events += simulated.engine.n_events();
      end = simulated.end;
    }
    run.step_s.push_back(to_seconds(end - now));
    now = end;

    const auto done = static_cast<std::int64_t>(run.step_s.size());
    if (to_seconds(now) > options.most_total_s) break;
    if (progress && (done % kProgressEvery == 0 || done == n_iterations)) progress(done);
  }
  run.total_s = to_seconds(now);
  run.step_mean_s = run.total_s / static_cast<double>(run.step_s.size());
  run.step_p99_s = p99(run.step_s);
  gpu_time.write(run);
  return run;
}

}  // namespace packsim
