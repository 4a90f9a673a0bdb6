#include "reports/saved/chart_spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "reports/saved/chart_views.hpp"
#include "scenarios/loader/json/suggest.hpp"

namespace packsim {
namespace {

constexpr int kPageWidth_px = 900;  // of charts that fill the page

// {"data": {"name": ...}} of views, and of lookups in transforms. Rows that a spec has itself are no specs.
void collect_data_sets(const Json& node, std::set<std::string>& names) {
  if (!node.is_structured()) return;
  if (const Json* const data = member(node, "data"); data != nullptr) {
    const Json* const name = member(*data, "name");
    const bool is_elsewhere = member(*data, "values") == nullptr && member(*data, "url") == nullptr;
    if (name != nullptr && name->is_string() && is_elsewhere) names.insert(name->get<std::string>());
  }
  for (const auto& [key, child] : node.items())
    if (key != "values" && key != "datasets" && key != "usermeta") collect_data_sets(child, names);
}

Json used_data_sets(const Json& spec, const SavedCharts& charts, const std::string& chart) {
  const Json& all = (*charts.document.root)["datasets"];
  std::set<std::string> names;
  collect_data_sets(spec, names);
  const Json* const own = member(spec, "datasets");
  Json used = own == nullptr ? Json::object() : *own;
  for (const std::string& name : names) {
    if (used.contains(name)) continue;
    const Json* const rows = member(all, name.c_str());
    if (rows == nullptr)
      throw std::invalid_argument(fmt::format("{}: /specs/{}: expected data sets of the file, got {}",
                                              charts.document.file, chart, quote(name)));
    used[name] = *rows;
  }
  return used;
}

// The theme under what the chart itself says. A page has a background of its own, and a file has none.
Json config_of(const Json& spec, const Json& theme) {
  Json config = theme;
  config["background"] = "white";
  if (const Json* const own = member(spec, "config"); own != nullptr) config.update(*own, true);
  return config;
}

void set_width(Json& spec, const SavedChart& chart, std::optional<int> width_px) {
  if (width_px && !chart.has_width) {
    throw std::invalid_argument(fmt::format(
        "--width: expected a chart with a width of its own, got {}, which is made of parts", chart.name));
  }
  if (width_px) spec["width"] = *width_px;
  for_each_view(spec, [](Json& view) {
    if (const auto width = view.find("width"); width != view.end() && *width == "container")
      *width = kPageWidth_px;
  });
}

// What a number of a param's control may be.
std::string range_text(double low, double high) {
  if (!std::isfinite(low) && !std::isfinite(high)) return "a number";
  return fmt::format("a number in {}..{}", low, high);
}

Json number_of(const std::string& text, const Json& param, const std::string& mistake_start) {
  const auto limit = [&](const char* key, double none) {
    const Json* const bind = member(param, "bind");
    const Json* const value = bind == nullptr ? nullptr : member(*bind, key);
    return value != nullptr && value->is_number() ? value->get<double>() : none;
  };
  const double low = limit("min", -HUGE_VAL);
  const double high = limit("max", HUGE_VAL);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= low && number <= high))
    throw std::invalid_argument(
        fmt::format("{}expected {}, got {}", mistake_start, range_text(low, high), quote(text)));
  return number;
}

// A text as the value that the param has: one of its control's options, a number, true or false, else a text.
Json value_of(const std::string& text, const Json& param, const ChartParameter& parameter) {
  const std::string mistake_start = fmt::format("--set {}: ", parameter.name);
  if (!parameter.choices.empty()) {
    const auto found = std::ranges::find(parameter.choices, text);
    if (found != parameter.choices.end())
      return param["bind"]["options"][static_cast<std::size_t>(found - parameter.choices.begin())];
    throw std::invalid_argument(fmt::format("{}expected {}, got {}", mistake_start,
                                            expected_one_of(text, parameter.choices), quote(text)));
  }
  const Json* const value = member(param, "value");
  if (value != nullptr && value->is_number()) return number_of(text, param, mistake_start);
  if (value == nullptr || !value->is_boolean()) return text;
  if (text == "true" || text == "false") return text == "true";
  throw std::invalid_argument(fmt::format("{}expected true or false, got {}", mistake_start, quote(text)));
}

void set_parameter(Json& spec, const SavedChart& chart, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  const std::string name = setting.substr(0, equals);
  const auto parameter = std::ranges::find(chart.parameters, name, &ChartParameter::name);
  if (equals == std::string::npos)
    throw std::invalid_argument(fmt::format("--set: expected NAME=VALUE, got {}", quote(setting)));
  if (parameter == chart.parameters.end())
    throw std::invalid_argument(fmt::format("--set: expected a value of the chart {}, got {} ({})",
                                            chart.name, quote(name),
                                            suggest(name, names_in(chart.parameters))));
  for_each_view(spec, [&](Json& view) {
    if (!view.contains("params") || !view["params"].is_array()) return;
    for (Json& param : view["params"])
      if (is_settable(param) && param["name"] == name)
        param["value"] = value_of(setting.substr(equals + 1), param, *parameter);
  });
}

void set_parameters(Json& spec, const SavedChart& chart, const std::vector<std::string>& settings) {
  std::vector<std::string> mistakes;
  for (const std::string& setting : settings) {
    try {
      set_parameter(spec, chart, setting);
    } catch (const std::invalid_argument& error) {
      mistakes.emplace_back(error.what());
    }
  }
  if (!mistakes.empty()) throw std::invalid_argument(fmt::format("{}", fmt::join(mistakes, "\npacksim: ")));
}

}  // namespace

std::string chart_spec(const SavedCharts& charts, const std::string& name, const ChartSettings& settings) {
  const SavedChart& chart = charts.find(name);
  const Json& root = *charts.document.root;
  Json spec = root["specs"][name];
  set_parameters(spec, chart, settings.parameters);
  set_width(spec, chart, settings.width_px);
  spec["datasets"] = used_data_sets(spec, charts, name);
  spec["config"] = config_of(spec, root["theme"]);
  return spec.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace packsim
