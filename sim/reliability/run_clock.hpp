#pragma once

#include <array>
#include <cstdint>

#include "sim/reliability/failure_model.hpp"

namespace packsim {

/// Time without a failure from the end of one checkpoint's write to the end of the next. A failure in between
/// throws the run back to redo_s before the first of these ends, because that checkpoint lacks the work that
/// was done beside its write.
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
/// A write blocks the run for b and then goes on beside its work for a. With interval t, a period lasts
/// max(t, a) + b from the end of one write to the end of the next, because the next write begins when the
/// work is done and the last write has ended; min(t, a) of the work is done beside the last write. The first
/// period has no write before it and lasts t + b + a. The run ends when its last write does.
class RunClock {
 public:
  /// interval_s: above 0; above work_s, there is one period. model: without mistakes.
  RunClock(double work_s, double interval_s, const FailureModel& model);

  double work_s() const { return work_s_; }
  double interval_s() const { return interval_s_; }
  std::int64_t n_periods() const { return n_periods_; }  ///< 0 where there is no work
  /// The first period, the middle ones, the last. A run of one period has only the last.
  std::array<EqualPeriods, 3> periods() const;
  double end_s() const { return end_s_; }
  /// The point on the timeline at which a run that fails at failed_at_s, in [0, end_s()), continues: its last
  /// checkpoint, less what it redoes.
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
