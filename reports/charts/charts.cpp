#include "reports/charts/charts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/files/embedded.hpp"

namespace packsim::formats_detail {

std::vector<Chart> charts_of(const ChartData& data) {
  constexpr std::string_view kEnding = ".vl.json";
  std::vector<Chart> charts;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.ends_with(kEnding)) continue;
    const nlohmann::json about = nlohmann::json::parse(file.text).at("usermeta");
    if (!data.has_rows(about.at("shown_with").get<std::string>())) continue;
    charts.push_back({.name = std::string(file.name.substr(0, file.name.size() - kEnding.size())),
                      .title = about.at("title"),
                      .caption = about.at("caption"),
                      .position = about.at("position"),
                      .spec = file.text});
  }
  std::ranges::sort(charts, {}, &Chart::position);
  return charts;
}

}  // namespace packsim::formats_detail
