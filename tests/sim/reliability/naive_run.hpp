#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "sim/reliability/failure_model.hpp"

namespace packsim {

// A run as it happens: work, writes in front and behind, failures, repairs. Shares no code with the library.
class NaiveRun {
 public:
  NaiveRun(double work_s, std::int64_t n_gpus, const FailureModel& model, std::mt19937& words)
      : work_s_(work_s),
        mtbf_s_(model.unit_mtbf_h * 3600 / static_cast<double>(n_gpus)),
        model_(model),
        words_(words) {}

  double wall_s() {
    next_failure_s_ = draw_s();
    while (!attempt()) recover();
    return now_s_;
  }

 private:
  double draw_s() { return -mtbf_s_ * std::log((static_cast<double>(words_()) + 0.5) * 0x1p-32); }

  // Lets time pass. False if a failure comes first.
  bool pass(double duration_s) {
    const bool whole = now_s_ + duration_s < next_failure_s_;
    now_s_ = std::min(now_s_ + duration_s, next_failure_s_);
    if (written_s_ <= now_s_) saved_s_ = std::max(saved_s_, writing_s_);
    return whole;
  }

  // From the last checkpoint to the end, or to a failure.
  bool attempt() {
    double done_s = saved_s_;
    writing_s_ = 0;
    written_s_ = 0;
    const double blocking_s = model_.checkpoint_write_s * model_.checkpoint_blocking_fraction;
    for (;;) {
      const double part_s = std::min(*model_.checkpoint_interval_s, work_s_ - done_s);
      if (!pass(part_s)) return false;
      done_s += part_s;
      if (!pass(std::max(0.0, written_s_ - now_s_))) return false;
      if (done_s > work_s_ - 1e-6) return pass(model_.checkpoint_write_s);
      if (!pass(blocking_s)) return false;
      writing_s_ = done_s;
      written_s_ = now_s_ + model_.checkpoint_write_s - blocking_s;
      if (!pass(0)) return false;
    }
  }

  void recover() {
    double ready_s = 0;
    do {
      now_s_ = next_failure_s_;
      next_failure_s_ = now_s_ + draw_s();
      ready_s = whole_again_s() + model_.restart_s();
    } while (next_failure_s_ < ready_s);
    now_s_ = ready_s;
  }

  double whole_again_s() {
    if (!model_.spares) return now_s_;
    back_s_.push_back(now_s_ + model_.spares->repair_s);
    for (double at_s : back_s_) {
      if (at_s < now_s_) at_s = now_s_;
      if (still_gone(now_s_) <= model_.spares->n_units) return now_s_;
      if (still_gone(at_s) <= model_.spares->n_units) return at_s;
    }
    return now_s_;
  }
  std::int64_t still_gone(double at_s) const {
    return std::count_if(back_s_.begin(), back_s_.end(), [&](double back_s) { return back_s > at_s; });
  }

  double work_s_;
  double mtbf_s_;
  FailureModel model_;
  std::mt19937& words_;
  double now_s_ = 0;
  double next_failure_s_ = 0;
  double saved_s_ = 0;
  double writing_s_ = 0;
  double written_s_ = 0;
  std::vector<double> back_s_;
};

struct NaiveRuns {
  std::vector<double> walls_s;
  double mean_s = 0;
  double sd_s = 0;
  double standard_error_s = 0;

  double share_until(double wall_s) const {
    const auto n = std::count_if(walls_s.begin(), walls_s.end(), [&](double w) { return w <= wall_s; });
    return static_cast<double>(n) / static_cast<double>(walls_s.size());
  }
};

inline NaiveRuns naive_runs(double work_s, std::int64_t n_gpus, const FailureModel& model, int n,
                            std::uint32_t seed) {
  std::mt19937 words(seed);
  NaiveRuns times;
  for (int i = 0; i < n; ++i) times.walls_s.push_back(NaiveRun(work_s, n_gpus, model, words).wall_s());
  for (const double wall_s : times.walls_s) times.mean_s += wall_s / n;
  for (const double wall_s : times.walls_s) {
    times.sd_s += (wall_s - times.mean_s) * (wall_s - times.mean_s) / (n - 1);
  }
  times.sd_s = std::sqrt(times.sd_s);
  times.standard_error_s = times.sd_s / std::sqrt(n);
  return times;
}

}  // namespace packsim
