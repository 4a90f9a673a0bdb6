#include "sim/run/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/engine/op_account.hpp"
#include "sim/run/iteration_ranks.hpp"
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
  // At this level of detail all computation counts as `linear`.
  account.busy[static_cast<std::size_t>(Cause::linear)] += computed;
  account.idle += idle;
}

// GPU seconds of the whole run.
class GpuTime {
 public:
  // Adds one lane in one step, which stands for so many GPUs. work: its time where nothing slows it down.
  void add(const WorkTime& work, const RankAccount& account, StepDetail detail, double gpus) {
    constexpr auto kHost = static_cast<std::size_t>(Cause::host);
    double scale = 0;
    if (detail == StepDetail::micro_batches && work.total_ns > work.of(Cause::host)) {
      // Operations are of several causes; what slows them down, slows all of these down. Waits for launches
      // are operations of their own.
      SimTime busy;
      for (const SimTime time : account.busy) busy += time;
      scale = static_cast<double>((busy - account.busy[kHost]).ns) /
              static_cast<double>(work.total_ns - work.of(Cause::host));
    }
    for (std::size_t c = 0; c < by_cause_.size(); ++c) {
      const double busy_s = detail == StepDetail::stages || c == kHost
                                ? to_seconds(account.busy[c])
                                : 1e-9 * scale * static_cast<double>(work.by_cause_ns[c]);
      by_cause_[c] += gpus * (busy_s + to_seconds(account.exposed[c]));
    }
    idle_ += gpus * to_seconds(account.idle);
  }

  // Shares of all of it; 0 of nothing.
  std::array<double, kNCauses> by_cause() const {
    std::array<double, kNCauses> shares = by_cause_;
    for (double& share : shares) share = share_of(share);
    return shares;
  }
  double idle() const { return share_of(idle_); }

 private:
  double share_of(double time) const {
    const double all = std::accumulate(by_cause_.begin(), by_cause_.end(), idle_);
    return all > 0 ? time / all : 0;
  }

  std::array<double, kNCauses> by_cause_ = {};
  double idle_ = 0;
};

// Simulates ranks of one iteration after the other, and adds up what their GPUs do.
class Steps {
 public:
  Steps(const SimulationOptions& options, const IterationRanks& iteration_ranks)
      : options_(options),
        iteration_ranks_(iteration_ranks),
        arena_({.detail = options.detail, .topology = options.topology, .slow_down = options.slow_down}) {}

  // The time of a step of all ranks of the latest iteration.
  SimTime step(std::span<const RankWork> ranks, SimTime start) {
    if (options_.ranks_wait) return together(ranks, 0, start);
    double gpu_ns = 0;
    double n_gpus = 0;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const double gpus = iteration_ranks_.gpus_of_lane(r);
      gpu_ns += gpus * static_cast<double>(together(ranks.subspan(r, 1), r, start).ns);
      n_gpus += gpus;
    }
    return SimTime{std::llround(gpu_ns / n_gpus)};
  }

  void write(SimulatedRun& run) const {
    run.fraction = gpu_time_.by_cause();
    run.idle_fraction = gpu_time_.idle();
    run.busiest_fraction = busiest_.by_cause();
    run.n_events = n_events_;
  }

 private:
  // first: the number of the first of these ranks, which wait for each other.
  SimTime together(std::span<const RankWork> ranks, std::size_t first, SimTime start) {
    const StepRun simulated = run_step(ranks, arena_, start);
    take_account(simulated.graph, simulated.engine, account_);
    const std::size_t n_stages = simulated.work.size() / ranks.size();
    std::size_t busiest = 0;
    for (std::size_t lane = 0; lane < simulated.work.size(); ++lane) {
      account_inside(simulated.inside[lane], account_.ranks[lane]);
      gpu_time_.add(simulated.work[lane], account_.ranks[lane], options_.detail,
                    iteration_ranks_.gpus_of_lane(first + lane / n_stages));
      if (account_.ranks[lane].idle.ns < account_.ranks[busiest].idle.ns) busiest = lane;
    }
    busiest_.add(simulated.work[busiest], account_.ranks[busiest], options_.detail, 1);
    n_events_ += simulated.engine.n_events();
    return simulated.end - start;
  }

  const SimulationOptions& options_;
  const IterationRanks& iteration_ranks_;
  StepArena arena_;
  OpAccount account_;
  GpuTime gpu_time_;
  GpuTime busiest_;  // of each step's lane that waits least
  std::uint64_t n_events_ = 0;
};

}  // namespace

SimulatedRun simulate(const Schedule& schedule, std::span<const PricedGroup> groups,
                      const SimulationOptions& options, const std::function<void(std::int64_t)>& progress) {
  const auto n_iterations = static_cast<std::int64_t>(schedule.iterations.size());
  SimulatedRun run;
  IterationRanks iteration_ranks(schedule, groups, options);
  if (n_iterations == 0) return run;

  Steps steps(options, iteration_ranks);
  SimTime now;
  run.step_s.reserve(schedule.iterations.size());
  for (std::size_t i = 0; i < schedule.iterations.size(); ++i) {
    const std::span<const RankWork> ranks = iteration_ranks.of(i);
    if (options.detail == StepDetail::stages)
      require_memory(estimated_step_bytes(ranks, false), options.most_step_bytes);
    const SimTime step = steps.step(ranks, now);
    now += step;
    run.step_s.push_back(to_seconds(step));

    const auto done = static_cast<std::int64_t>(run.step_s.size());
    if (to_seconds(now) > options.most_total_s) break;
    if (progress && (done % kProgressEvery == 0 || done == n_iterations)) progress(done);
  }
  run.total_s = to_seconds(now);
  run.step_mean_s = run.total_s / static_cast<double>(run.step_s.size());
  run.step_p99_s = p99(run.step_s);
  steps.write(run);
  return run;
}

}  // namespace packsim
