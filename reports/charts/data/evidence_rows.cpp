#include <string_view>

#include "reports/charts/data/chart_rows.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/tables/time_parts.hpp"

namespace packsim::formats_detail {
namespace {

struct EvidenceKind {
  std::string_view name;
  double EvidenceShares::*share;
};

constexpr EvidenceKind kKinds[] = {{"measured", &EvidenceShares::measured},
                                   {"extrapolated", &EvidenceShares::extrapolated},
                                   {"scaled from another GPU", &EvidenceShares::transferred},
                                   {"rough estimate", &EvidenceShares::missing}};

}  // namespace

ChartRows evidence_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  for (const StrategyResult* run : by_gpu_days(report)) {
    if (!has_time(*run)) continue;
    for (const TimePart& part : time_parts()) {
      if (!part.cause) continue;
      const EvidenceShares& shares = run->times->evidence_by_cause[static_cast<std::size_t>(*part.cause)];
      double sum = 0;
      for (const EvidenceKind& kind : kKinds) {
        const double fraction = shares.*kind.share;
        if (fraction <= 0) continue;
        rows.push_back({{"run", run->name},
                        {"part", part.name},
                        {"evidence", kind.name},
                        {"fraction", five_digits(fraction)},
                        {"from", five_digits(sum)},
                        {"to", five_digits(sum + fraction)}});
        sum += fraction;
      }
    }
  }
  return rows;
}

}  // namespace packsim::formats_detail
