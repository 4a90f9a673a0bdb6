#include "reports/tables/loss_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "packing/loss/normalisers.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {
namespace {

bool is_shown(const Normaliser& normaliser) {
  return normaliser.name != "stable" && normaliser.name != "sum";
}

}  // namespace

std::vector<std::vector<std::string>> loss_rows(const Report& report) {
  std::vector<std::vector<std::string>> rows = {{"misplaced loss"}};
  for (const Normaliser& normaliser : normalisers()) {
    if (is_shown(normaliser)) rows.front().insert(rows.front().end(), {std::string(normaliser.name), "long"});
  }
  for (const StrategyResult& run : report.runs) {
    if (run.loss_bias.empty()) continue;
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(run.name);
    for (const Normaliser& normaliser : normalisers()) {
      if (!is_shown(normaliser)) continue;
      const auto bias = std::ranges::find(run.loss_bias, normaliser.name, &LossBiasResult::normaliser);
      const bool has_it = bias != run.loss_bias.end();
      row.push_back(has_it ? percent(bias->misplaced_fraction) : "-");
      row.push_back(has_it ? fmt::format("{:.3f}", bias->long_sample_weight) : "-");
    }
  }
  if (rows.size() == 1) rows.clear();
  return rows;
}

}  // namespace packsim::formats_detail
