#include "reports/charts/charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/files/embedded.hpp"

namespace packsim::formats_detail {
namespace {

using Json = nlohmann::ordered_json;

// A share of nothing is no number.
bool is_other_than_0(const Json& value) {
  if (value.is_array()) return std::ranges::any_of(value, is_other_than_0);
  return value.is_number() && value.get<double>() != 0 && std::isfinite(value.get<double>());
}

// The rows of which the chart shows anything.
Json shown_rows(const Json& about, const ChartData& data) {
  Json shown = Json::array();
  for (const Json& row : data.sets.at(about.at("shown_with").get_ref<const std::string&>())) {
    const auto is_seen = [&](const Json& field) {
      return is_other_than_0(row.at(field.get_ref<const std::string&>()));
    };
    if (std::ranges::any_of(about.at("measures"), is_seen)) shown.push_back(row);
  }
  return shown;
}

// Each value once, in the order in which they come.
Json values_of(const Json& rows, const std::string& field) {
  Json values = Json::array();
  for (const Json& row : rows)
    if (std::ranges::find(values, row.at(field)) == values.end()) values.push_back(row.at(field));
  return values;
}

void add_choices(Json& spec, const Json& rows) {
  const Json choices = spec.at("usermeta").value("choices", Json::array());
  for (const Json& choice : choices) {
    const Json values = values_of(rows, choice.at("field"));
    const std::size_t at = std::min(choice.value("at", std::size_t{0}), values.size() - 1);
    spec["params"].push_back(
        {{"name", choice.at("param")},
         {"value", values[at]},
         {"bind", {{"input", "select"}, {"name", choice.at("label")}, {"options", values}}}});
  }
}

// Which runs a reader of a chart of one run looks for in vain.
std::string zeros_text(const Json& about, const Json& rows, const ChartData& data) {
  const Json choices = about.value("choices", Json::array());
  if (choices.empty() || choices[0].at("field") != "run") return "";
  const Json& all = data.sets.at(about.at("shown_with").get_ref<const std::string&>());
  const std::size_t n_zero = values_of(all, "run").size() - values_of(rows, "run").size();
  if (n_zero == 0) return "";
  return fmt::format(" Not offered: {} run{} of which all values are 0.", n_zero, n_zero == 1 ? "" : "s");
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
    Chart chart{.name = std::string(file.name.substr(0, file.name.size() - kEnding.size())),
                .title = about.at("title"),
                .caption = about.at("caption"),
                .fold = about.value("fold", ""),
                .position = about.at("position"),
                .if_zero = "",
                .spec = {}};
    if (const Json rows = shown_rows(about, data); !rows.empty()) {
      add_choices(spec, rows);
      chart.caption += zeros_text(about, rows, data);
      chart.spec = std::move(spec);
    } else {
      chart.if_zero = about.value("if_zero", "");
      if (chart.if_zero.empty()) continue;
    }
    charts.push_back(std::move(chart));
  }
  std::ranges::sort(charts, {}, &Chart::position);
  return charts;
}

}  // namespace packsim::formats_detail
