#include <fmt/format.h>

#include "files/text/printable.hpp"
#include "reports/text/numbers.hpp"
#include "reports/verdict/sentences.hpp"

namespace packsim::formats_detail {
std::string trainer_sentence(const Report& report, const StrategyResult& best) {
  if (report.manifest.trainer.empty() || !report.without_trainer) return "";
  const StrategyResult& free = *report.without_trainer;
  const std::string name = printable_name(report.manifest.trainer);
  constexpr double kSame = 0.002;
  const double more = best.times->gpu_days / free.times->gpu_days - 1;
  if (more <= kSame)
    return fmt::format(" The limits of {} cost nothing: no plan of another trainer was faster.", name);
  return fmt::format(" The limits of {} cost {}: without them {} GPU-days.", name, percent(more),
                     quantity(free.times->gpu_days));
}

}  // namespace packsim::formats_detail
