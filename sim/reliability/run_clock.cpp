#include "sim/reliability/run_clock.hpp"

#include <algorithm>
#include <cmath>

namespace packsim {

RunClock::RunClock(double work_s, double interval_s, const FailureModel& model)
    : work_s_(work_s), interval_s_(interval_s) {
  if (work_s == 0) return;
  // work_s / n as an interval means n periods, whichever way it was rounded.
  constexpr double kRounding = 1e-15;
  const double n = std::max(1.0, std::ceil(work_s / interval_s * (1 - kRounding)));
  n_periods_ = static_cast<std::int64_t>(n);

  const double write_s = model.checkpoint_write_s;
  const double blocking_s = write_s * model.checkpoint_blocking_fraction;
  const double background_s = write_s - blocking_s;
  const double last_work_s = work_s - (n - 1) * interval_s;

  first_ = {interval_s + write_s, 0};
  middle_ = {std::max(interval_s, background_s) + blocking_s, std::min(interval_s, background_s)};
  last_ = {std::max(last_work_s - background_s, 0.0) + write_s, std::min(last_work_s, background_s)};
  if (n_periods_ == 1) last_ = {work_s + write_s, 0};
  end_s_ = period_end_s(n_periods_ - 1);
}

std::array<EqualPeriods, 3> RunClock::periods() const {
  const auto n = static_cast<double>(n_periods_);
  return {
      EqualPeriods{first_, n > 1 ? 1.0 : 0.0}, {middle_, std::max(n - 2, 0.0)}, {last_, n > 0 ? 1.0 : 0.0}};
}

double RunClock::period_end_s(std::int64_t index) const {
  if (n_periods_ == 1) return last_.first_s;
  const auto n_middle = static_cast<double>(std::min(index, n_periods_ - 2));
  const double end_s = first_.first_s + n_middle * middle_.first_s;
  return index == n_periods_ - 1 ? end_s + last_.first_s : end_s;
}

double RunClock::fall_back_s(double failed_at_s) const {
  if (n_periods_ == 1 || failed_at_s < first_.first_s) return 0;
  const double n_middle = std::floor((failed_at_s - first_.first_s) / middle_.first_s);
  const std::int64_t index = std::min(static_cast<std::int64_t>(n_middle), n_periods_ - 2);
  const Period& next = index == n_periods_ - 2 ? last_ : middle_;
  return period_end_s(index) - next.redo_s;
}

}  // namespace packsim
