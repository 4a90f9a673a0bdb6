#include "reports/charts/charts.hpp"

#include <algorithm>

#include "reports/files/embedded.hpp"

namespace packsim::formats_detail {
namespace {

using Json = nlohmann::ordered_json;

// Each value once, in the order in which they come.
Json values_of(const Json& rows, const std::string& field) {
  Json values = Json::array();
  for (const Json& row : rows)
    if (std::ranges::find(values, row.at(field)) == values.end()) values.push_back(row.at(field));
  return values;
}

void add_choices(Json& spec, const ChartData& data) {
  const Json choices = spec.at("usermeta").value("choices", Json::array());
  for (const Json& choice : choices) {
    const Json values =
        values_of(data.sets.at(choice.at("data").get_ref<const std::string&>()), choice.at("field"));
    const std::size_t at = std::min(choice.value("at", std::size_t{0}), values.size() - 1);
    spec["params"].push_back(
        {{"name", choice.at("param")},
         {"value", values[at]},
         {"bind", {{"input", "select"}, {"name", choice.at("label")}, {"options", values}}}});
  }
}

}  // namespace

std::vector<Chart> charts_of(const ChartData& data) {
  constexpr std::string_view kEnding = ".vl.json";
  std::vector<Chart> charts;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.ends_with(kEnding)) continue;
    Json spec = Json::parse(file.text);
    const Json about = spec.at("usermeta");
    if (!data.has_rows(about.at("shown_with").get<std::string>())) continue;
    add_choices(spec, data);
    charts.push_back({.name = std::string(file.name.substr(0, file.name.size() - kEnding.size())),
                      .title = about.at("title"),
                      .caption = about.at("caption"),
                      .position = about.at("position"),
                      .spec = std::move(spec)});
  }
  std::ranges::sort(charts, {}, &Chart::position);
  return charts;
}

}  // namespace packsim::formats_detail
