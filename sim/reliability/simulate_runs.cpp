#include "sim/reliability/simulate_runs.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/reliability/checkpoint_interval.hpp"
#include "sim/reliability/run_clock.hpp"
#include "sim/variability/counter_random.hpp"

namespace packsim {
namespace {

constexpr double kMostFailures = 2e7;

struct RunTimes {
  double wall_s = 0;
  double n_failures = 0;
  double restart_s = 0;
  double lost_s = 0;
};

// Units in repair. Each takes as long, so they come back in the order in which they failed.
class Repairs {
 public:
  explicit Repairs(const std::optional<SparePool>& spares) : spares_(spares) {}

  // A unit fails. Returns when as many units are whole as the run needs.
  double fail(double now_s) {
    if (!spares_) return now_s;
    while (!back_s_.empty() && back_s_.front() <= now_s) back_s_.pop_front();
    back_s_.push_back(now_s + spares_->repair_s);
    const auto n_short = static_cast<std::int64_t>(back_s_.size()) - spares_->n_units;
    return n_short > 0 ? back_s_[static_cast<std::size_t>(n_short - 1)] : now_s;
  }

 private:
  std::optional<SparePool> spares_;
  std::deque<double> back_s_;
};

class Replica {
 public:
  Replica(const RunClock& clock, const FailureModel& model, double failures_per_s, std::uint64_t seed,
          std::uint64_t index)
      : clock_(clock),
        restart_s_(model.restart_s()),
        failures_per_s_(failures_per_s),
        seed_(seed),
        index_(index),
        repairs_(model.spares) {}

  RunTimes run() {
    double position_s = 0;  // on the timeline of a run without failures
    while (times_.n_failures <= kMostFailures) {
      const double until_failure_s = next_failure_s();
      if (position_s + until_failure_s >= clock_.end_s()) break;
      times_.wall_s += until_failure_s;
      const double failed_at_s = position_s + until_failure_s;
      // A failure while work is redone does not throw the run back further than the failure before it.
      position_s = std::max(position_s, clock_.fall_back_s(failed_at_s));
      times_.lost_s += failed_at_s - position_s;
      restart();
    }
    times_.wall_s += clock_.end_s() - position_s;
    return times_;
  }

 private:
  // Restarts until no failure cuts a restart short.
  void restart() {
    while (++times_.n_failures <= kMostFailures) {
      const double needed_s = repairs_.fail(times_.wall_s) - times_.wall_s + restart_s_;
      const double until_failure_s = next_failure_s();
      const double spent_s = std::min(needed_s, until_failure_s);
      times_.wall_s += spent_s;
      times_.restart_s += spent_s;
      if (needed_s <= until_failure_s) return;
    }
  }

  double next_failure_s() {
    if (failures_per_s_ == 0) return std::numeric_limits<double>::infinity();
    return -std::log(open_uniform(random_word(seed_, Draw::failure, {index_, n_drawn_++}))) / failures_per_s_;
  }

  const RunClock& clock_;
  double restart_s_;
  double failures_per_s_;
  std::uint64_t seed_;
  std::uint64_t index_;
  std::uint64_t n_drawn_ = 0;
  Repairs repairs_;
  RunTimes times_;
};

// The smallest time by which at least this share of the runs is done. sorted_s: ascending, at least one.
double quantile_s(const std::vector<double>& sorted_s, double share) {
  const double rank = std::ceil(share * static_cast<double>(sorted_s.size()));
  return sorted_s[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

void add_spread(std::vector<double> walls_s, ReliabilityResult& result) {
  std::sort(walls_s.begin(), walls_s.end());
  result.quantiles = {quantile_s(walls_s, 0.05), quantile_s(walls_s, 0.5), quantile_s(walls_s, 0.95)};
  double squares = 0;
  for (const double wall_s : walls_s) {
    squares += (wall_s - result.expected_wall_s) * (wall_s - result.expected_wall_s);
  }
  const auto n = static_cast<double>(walls_s.size());
  result.sd_wall_s = n > 1 ? std::sqrt(squares / (n - 1)) : 0.0;
  result.standard_error_s = result.sd_wall_s / std::sqrt(n);
}

[[noreturn]] void refuse_failures(double interval_s, double failures_per_s) {
  throw std::invalid_argument("replicas: expected at most 2e7 failures in all, got more, with " +
                              std::to_string(interval_s * failures_per_s) +
                              " failures per checkpoint_interval_s");
}

}  // namespace

ReliabilityResult simulate_runs(double work_s, std::int64_t n_gpus, const FailureModel& model,
                                std::int64_t n_replicas, std::uint64_t seed) {
  if (n_replicas < 1) {
    throw std::invalid_argument("n_replicas: expected at least 1, got " + std::to_string(n_replicas));
  }
  const RunClock clock = run_with_checkpoints(work_s, n_gpus, model);
  const double failures_per_s = failure_rate_per_s(n_gpus, model);
  RunTimes sum;
  std::vector<double> walls_s;
  for (std::int64_t i = 0; i < n_replicas; ++i) {
    const RunTimes run = Replica(clock, model, failures_per_s, seed, static_cast<std::uint64_t>(i)).run();
    walls_s.push_back(run.wall_s);
    sum.wall_s += run.wall_s;
    sum.n_failures += run.n_failures;
    sum.restart_s += run.restart_s;
    sum.lost_s += run.lost_s;
    if (sum.n_failures > kMostFailures) refuse_failures(clock.interval_s(), failures_per_s);
  }
  ReliabilityResult result = failure_free(clock);
  const auto n = static_cast<double>(n_replicas);
  result.expected_wall_s = sum.wall_s / n;
  result.n_failures = sum.n_failures / n;
  result.restart_s = sum.restart_s / n;
  result.lost_s = sum.lost_s / n;
  result.gpu_days = gpu_days(result.expected_wall_s, n_gpus, model);
  add_spread(std::move(walls_s), result);
  return result;
}

}  // namespace packsim
