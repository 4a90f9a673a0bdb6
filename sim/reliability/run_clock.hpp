#pragma once

#include <array>
#include <cstdint>

#include "sim/reliability/failure_model.hpp"

namespace packsim {

/// What has to pass without a failure from one checkpoint that counts to the next. After a failure the run is
/// redo_s further back than that checkpoint's end: what it did beside the write of that checkpoint is done
/// again.
struct Period {
  double first_s = 0;
  double redo_s = 0;
};

struct EqualPeriods {
  Period period;
  double n = 0;
};

/// The timeline of a run on which nothing fails: work, checkpoints, the end. It falls into one period for
/// each checkpoint: the first, middle ones that are alike, and the last.
///
/// With interval t, blocking part b and background part a of the write, a period is max(t, a) + b from the
/// end of one write to the end of the next, with min(t, a) of it behind: the next write begins when the work
/// is done and the last write ended. The first begins with nothing behind: t + b + a. The last write is
/// waited for.
class RunClock {
 public:
  /// interval_s > 0; of a checked model. An interval above work_s is one period.
  RunClock(double work_s, double interval_s, const FailureModel& model);

  double work_s() const { return work_s_; }
  double interval_s() const { return interval_s_; }
  std::int64_t n_periods() const { return n_periods_; }  ///< 0 where there is no work
  /// The first, the middle ones, the last. A run of one period has a last one alone.
  std::array<EqualPeriods, 3> periods() const;
  double end_s() const { return end_s_; }
  /// Where a run continues that comes to this time, in [0, end_s()), without a failure and then fails: its
  /// last checkpoint, less what it redoes.
  double fall_back_s(double failed_at_s) const;

 private:
  double period_end_s(std::int64_t index) const;

  double work_s_ = 0;
  double interval_s_ = 0;
  std::int64_t n_periods_ = 0;
  Period first_, middle_, last_;
  double end_s_ = 0;
};

}  // namespace packsim
