#include "sim/simulate.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "sim/alike_ranks.hpp"
#include "sim/check_schedule.hpp"
#include "sim/op_account.hpp"
#include "sim/op_engine.hpp"
#include "sim/rank_slow_down.hpp"

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

void check_variability(std::span<const PricedGroup> groups, const Variability& variability) {
  int n_gpus = 0;
  for (const PricedGroup& group : groups) n_gpus = std::max(n_gpus, group.plan.plan.n_gpus);
  std::string all;
  for (const std::string& mistake : variability_mistakes(variability, n_gpus))
    all += (all.empty() ? "" : "; ") + mistake;
  if (!all.empty()) throw std::invalid_argument(all);
}

void set_work(std::span<const std::uint32_t> packs, const PricedGroup& group, std::size_t n_ranks,
              std::size_t rank, RankWork& work) {
  work.plan = &group.plan;
  work.first_gpu = static_cast<int>(rank) * group.plan.plan.sequence_gpus();
  work.micro_batches.clear();
  for (std::size_t i = rank; i < packs.size(); i += n_ranks)
    work.micro_batches.push_back(&group.packs[packs[i]]);
}

// The ranks of one iteration after the other; where nothing contends and all GPUs are the mean one, one of
// each kind.
class Steps {
 public:
  Steps(const Schedule& schedule, std::span<const PricedGroup> groups, const SimulationOptions& options)
      : schedule_(schedule),
        groups_(groups),
        merges_(options.topology == nullptr && options.merges_alike && !options.variability.any()) {
    if (options.variability.any()) slow_down_.emplace(options.variability);
    if (!merges_) return;
    for (const PricedGroup& group : groups) classes_.push_back(price_classes(group.packs));
  }

  // Of the next iteration.
  std::span<const RankWork> ranks(const Iteration& iteration) {
    const PricedGroup& group = groups_[iteration.group];
    const std::span<const std::uint32_t> packs = schedule_.packs(iteration);
    const auto n_ranks = static_cast<std::size_t>(schedule_.groups[iteration.group].n_dp_ranks);
    std::size_t block = merges_ ? ranks_of_experts(group.plan.plan) : n_ranks;
    if (n_ranks % block != 0) block = n_ranks;
    if (merges_) {
      find_alike(packs, classes_[iteration.group], n_ranks, block, alike_);
    } else {
      alike_.kinds.assign(1, {.first_block = 0, .n_blocks = 1});
    }
    const std::size_t n_works = alike_.kinds.size() * block;
    if (works_.size() < n_works) works_.resize(n_works);
    gpus_.clear();
    const double gpus = static_cast<double>(schedule_.n_gpus) /
                        static_cast<double>(n_ranks * static_cast<std::size_t>(group.plan.plan.pp_degree));
    for (const AlikeRanks::Kind& kind : alike_.kinds) {
      for (std::size_t r = 0; r < block; ++r) {
        RankWork& work = works_[gpus_.size()];
        set_work(packs, group, n_ranks, kind.first_block * block + r, work);
        if (slow_down_) slow_down_->set(n_done_, work);
        gpus_.push_back(gpus * static_cast<double>(kind.n_blocks));
      }
    }
    ++n_done_;
    return {works_.data(), n_works};
  }

  // That a lane of the rank stands for.
  double gpus_of_lane(std::size_t rank) const { return gpus_[rank]; }

 private:
  const Schedule& schedule_;
  std::span<const PricedGroup> groups_;
  bool merges_;
  std::optional<RankSlowDown> slow_down_;  // where GPUs or kernels differ
  std::uint64_t n_done_ = 0;
  std::vector<std::vector<std::uint32_t>> classes_;  // [n_groups][n_packs]
  AlikeRanks alike_;
  std::vector<RankWork> works_;  // and more of earlier iterations
  std::vector<double> gpus_;     // [n_works]
};

}  // namespace

void rank_works(const Schedule& schedule, const Iteration& iteration, const PricedGroup& group,
                std::vector<RankWork>& works) {
  works.resize(static_cast<std::size_t>(schedule.groups[iteration.group].n_dp_ranks));
  for (std::size_t r = 0; r < works.size(); ++r)
    set_work(schedule.packs(iteration), group, works.size(), r, works[r]);
}

SimulatedRun simulate(const Schedule& schedule, std::span<const PricedGroup> groups,
                      const SimulationOptions& options, const std::function<void(std::int64_t)>& progress) {
  std::vector<std::size_t> n_packs;
  for (const PricedGroup& group : groups) n_packs.push_back(group.packs.size());
  check_schedule(schedule, n_packs);
  check_variability(groups, options.variability);
  const auto n_iterations = static_cast<std::int64_t>(schedule.iterations.size());
  SimulatedRun run;
  if (n_iterations == 0) return run;

  Steps steps(schedule, groups, options);
  StepBuilder builder(options.detail, options.topology);
  std::optional<FlowNetwork> network;
  if (options.topology != nullptr) network.emplace(options.topology->link_bytes_per_s());
  OpGraph graph(options.detail == StepDetail::micro_batches);
  OpEngine engine;
  OpAccount account;
  GpuTime gpu_time;
  SimTime now;
  run.step_s.reserve(schedule.iterations.size());
  for (const Iteration& iteration : schedule.iterations) {
    const std::span<const RankWork> ranks = steps.ranks(iteration);
    builder.build(ranks, graph);
    const SimTime end =
        engine.run(graph, network ? &*network : nullptr, {.slow_down = options.slow_down}, now);
    take_account(graph, engine, account);
    const std::span<const WorkTime> work = builder.work();
    const std::size_t n_stages = work.size() / ranks.size();
    for (std::size_t lane = 0; lane < work.size(); ++lane)
      gpu_time.add(work[lane], account.ranks[lane], options.detail, steps.gpus_of_lane(lane / n_stages));
    run.n_events += engine.n_events();
    run.step_s.push_back(to_seconds(end - now));
    now = end;

    const auto done = static_cast<std::int64_t>(run.step_s.size());
    if (progress && (done % kProgressEvery == 0 || done == n_iterations)) progress(done);
  }
  run.total_s = to_seconds(now);
  run.step_mean_s = run.total_s / static_cast<double>(n_iterations);
  run.step_p99_s = p99(run.step_s);
  gpu_time.write(run);
  return run;
}

}  // namespace packsim
