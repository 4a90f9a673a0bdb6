
#include "reports/charts/data/chart_rows.hpp"
#include "reports/tables/shown_groups.hpp"
#include "reports/text/gpu_text.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {

ChartRows pack_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  for (const StrategyResult* run : by_gpu_days(report)) {
    const std::vector<ShownGroup> groups = shown_groups(*run);
    double all = 0;
    for (const ShownGroup& shown : groups) all += static_cast<double>(shown.group.packs);
    double sum = 0;
    for (const ShownGroup& shown : groups) {
      const PlannedGroup& group = shown.group;
      if (group.packs == 0) continue;
      const auto packs = static_cast<double>(group.packs);
      rows.push_back({{"run", run->name},
                      {"gpus", group.sequence.ulysses * group.sequence.ring},
                      {"sequence", "SP " + sequence_text(group.sequence)},
                      {"capacity", capacity(group.capacity_tokens)},
                      {"packs", group.packs},
                      {"iterations", group.iterations},
                      {"gc_layers", shown.gc_layers},
                      {"from", five_digits(sum / all)},
                      {"to", five_digits((sum + packs) / all)}});
      sum += packs;
    }
  }
  return rows;
}

}  // namespace packsim::formats_detail
