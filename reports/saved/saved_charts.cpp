#include "reports/saved/saved_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "files/file_error.hpp"
#include "files/shell_quoted.hpp"
#include "reports/saved/chart_views.hpp"
#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/loader/json/suggest.hpp"

namespace packsim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kChartsFile = "charts.json";

// Names become file names, so they are nothing but names.
bool is_chart_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

ChartParameter parameter_of(const Json& param) {
  ChartParameter parameter{.name = param["name"], .value = "", .choices = {}};
  if (const Json* const value = member(param, "value"); value != nullptr && !value->is_null())
    parameter.value = text_of_json(*value);
  const Json* const bind = member(param, "bind");
  const Json* const options = bind == nullptr ? nullptr : member(*bind, "options");
  if (options != nullptr && options->is_array())
    for (const Json& option : *options) parameter.choices.push_back(text_of_json(option));
  return parameter;
}

void read_chart(const std::string& name, const Json& spec, JsonReader& specs, SavedCharts& charts) {
  if (!is_chart_name(name)) specs.refuse(name, "a name of a-z, 0-9 and _", quote(name));
  JsonReader reader = specs.object(name);
  reader.allow_any_keys();
  JsonReader about = reader.optional_object("usermeta");
  about.allow_any_keys();
  SavedChart chart{.name = name,
                   .title = about.string("title", ""),
                   .has_width = member(spec, "width") != nullptr,
                   .parameters = {}};
  for_each_view(spec, [&](const Json& view) {
    const Json* const params = member(view, "params");
    if (params == nullptr || !params->is_array()) return;
    for (const Json& param : *params)
      if (is_settable(param)) chart.parameters.push_back(parameter_of(param));
  });
  charts.charts.push_back(chart);
}

bool exists(const std::string& path) {
  std::error_code unknown;  // reading says what is wrong with it
  return fs::exists(path, unknown);
}

// The charts.json beside a report.json.
JsonDocument read_beside(const fs::path& report, Problems& problems) {
  const fs::path folder = report.parent_path();
  const std::string path = (folder / kChartsFile).string();
  if (!exists(path)) {
    throw std::invalid_argument(
        fmt::format("{}: expected the charts of {}, got no file; an older packsim wrote that report. Run "
                    "packsim compare again with --out {}",
                    path, report.string(), shell_quoted(folder.empty() ? "." : folder.string())));
  }
  return read_json(path, problems);
}

JsonDocument read_document(const std::string& path, Problems& problems) {
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) return read_beside(fs::path(path) / "report.json", problems);
  JsonDocument document = read_json(path, problems);
  const bool is_report = document.root != nullptr && member(*document.root, "specs") == nullptr &&
                         member(*document.root, "runs") != nullptr;
  return is_report ? read_beside(path, problems) : document;
}

}  // namespace

const SavedChart& SavedCharts::find(const std::string& name) const {
  const auto found = std::ranges::find(charts, name, &SavedChart::name);
  if (found != charts.end()) return *found;
  throw std::invalid_argument(fmt::format("{}: expected a chart of the report, got {} ({})", document.file,
                                          quote(name), suggest(name, names_in(charts))));
}

SavedCharts load_charts(const std::string& path) {
  Problems problems;
  SavedCharts charts{.document = read_document(path, problems), .charts = {}};
  JsonReader root(charts.document, problems);
  root.allow_any_keys();
  for (const char* key : {"theme", "datasets"}) root.object(key).allow_any_keys();
  JsonReader specs = root.object("specs");
  specs.allow_any_keys();
  if (const Json* const value = root.value("specs"); value != nullptr && value->is_object()) {
    for (const auto& [name, spec] : value->items()) read_chart(name, spec, specs, charts);
  }
  problems.throw_if_any();
  return charts;
}

}  // namespace packsim
