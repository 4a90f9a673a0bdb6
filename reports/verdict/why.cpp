#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "files/text/printable.hpp"
#include "reports/tables/time_parts.hpp"
#include "reports/text/numbers.hpp"
#include "reports/verdict/sentences.hpp"

namespace packsim::formats_detail {
namespace {

constexpr std::size_t kMostReasons = 3;
constexpr double kWorthSaying = 0.1;  // of the difference in GPU-days

struct Reason {
  const TimePart* part;
  double saved_gpu_days;
};

// "99% less", "4.4 times as long as before"
std::string change_text(double before_gpu_days, double after_gpu_days) {
  if (before_gpu_days <= 0) return "time that it did not take before";
  const double factor = after_gpu_days / before_gpu_days;
  if (factor >= 2) return fmt::format("{:.1f} times as much", factor);
  const double change = std::abs(factor - 1);
  return fmt::format("{} {}", change < 0.005 ? "<1%" : fmt::format("{:.0f}%", 100 * change),
                     factor < 1 ? "less" : "more");
}

std::string signed_quantity(double value) {
  return (value < 0 ? "-" : "+") + quantity(std::abs(value));
}

// "+0.902 as GPUs wait 61% less for each other"
std::string reason_text(const Reason& reason, const StrategyResult& best, const StrategyResult& other) {
  return fmt::format("{} as {} {}{}", signed_quantity(reason.saved_gpu_days), reason.part->subject,
                     change_text(reason.part->gpu_days(other), reason.part->gpu_days(best)),
                     reason.part->object);
}

}  // namespace

std::vector<VerdictSaving> savings_of(const StrategyResult& best, const StrategyResult& other) {
  std::vector<VerdictSaving> savings;
  for (const TimePart& part : time_parts()) {
    const double saved_gpu_days = part.gpu_days(other) - part.gpu_days(best);
    if (saved_gpu_days != 0) savings.push_back({part.name, saved_gpu_days});
  }
  return savings;
}

std::string why_sentence(const StrategyResult& best, const StrategyResult& other) {
  const std::string name = printable_name(other.name);
  const double saved_gpu_days = other.times->gpu_days - best.times->gpu_days;
  if (saved_gpu_days <= 0) return fmt::format("{} takes as many GPU-days.", name);
  std::vector<Reason> reasons;
  for (const TimePart& part : time_parts())
    reasons.push_back({&part, part.gpu_days(other) - part.gpu_days(best)});
  std::ranges::stable_sort(reasons, std::ranges::greater{}, &Reason::saved_gpu_days);

  double told_gpu_days = 0;
  std::vector<std::string> told;
  const auto tell = [&](const Reason& reason) {
    told.push_back(reason_text(reason, best, other));
    told_gpu_days += reason.saved_gpu_days;
  };
  for (const Reason& reason : reasons) {
    const bool is_large = reason.saved_gpu_days >= kWorthSaying * saved_gpu_days;
    if (told.size() == kMostReasons || (!told.empty() && !is_large)) break;
    tell(reason);
  }
  if (reasons.back().saved_gpu_days <= -kWorthSaying * saved_gpu_days) tell(reasons.back());
  const double rest_gpu_days = saved_gpu_days - told_gpu_days;
  if (std::abs(rest_gpu_days) >= 0.005 * saved_gpu_days)
    told.push_back(signed_quantity(rest_gpu_days) + " by all else");
  return fmt::format("It saves {} GPU-days against {}: {}.", quantity(saved_gpu_days), name,
                     fmt::join(told, ", "));
}

}  // namespace packsim::formats_detail
