#include "reports/charts/charts_json.hpp"

#include <fmt/format.h>

#include "reports/files/embedded.hpp"

namespace packsim {

namespace {

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

std::string formats_detail::charts_json(std::span<const Chart> charts, const ChartData& data) {
  std::string specs;
  for (const Chart& chart : charts) {
    if (!chart.if_zero.empty()) continue;
    specs += fmt::format("{}\"{}\":{}", specs.empty() ? "" : ",", chart.name, dump(chart.spec));
  }
  return fmt::format("{{\"theme\":{},\"specs\":{{{}}},\"datasets\":{}}}", embedded_file("theme.json"), specs,
                     dump(data.sets));
}

std::string to_charts_json(const Report& report) {
  const formats_detail::ChartData data = formats_detail::chart_data(report);
  return formats_detail::charts_json(formats_detail::charts_of(data), data) + "\n";
}

}  // namespace packsim
