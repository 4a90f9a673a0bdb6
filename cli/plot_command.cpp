#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/plot/draw_charts.hpp"
#include "cli/shared/member_check.hpp"
#include "cli/shared/print.hpp"
#include "reports/saved/chart_spec.hpp"
#include "scenarios/loader/json/suggest.hpp"

namespace packsim {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kPlotFormats = {"svg", "png", "json"};
constexpr const char* kAllCharts = "all";
constexpr const char* kStandardOutput = "-";

struct PlotArguments {
  std::string report;
  std::string chart;
  std::string out;
  std::string format;
  ChartSettings settings;
  std::optional<double> scale;
  std::string python;
  bool json = false;
  bool quiet = false;
};

std::string parameters_text(const SavedChart& chart) {
  std::string text;
  for (const ChartParameter& parameter : chart.parameters) {
    text += fmt::format("    --set {}={}", parameter.name, parameter.value);
    if (!parameter.choices.empty()) text += fmt::format("  (one of {})", join(parameter.choices));
    text += "\n";
  }
  return text;
}

std::string list_json(const SavedCharts& charts) {
  Json list = Json::array();
  for (const SavedChart& chart : charts.charts) {
    Json parameters = Json::array();
    for (const ChartParameter& parameter : chart.parameters)
      parameters.push_back(
          {{"name", parameter.name}, {"value", parameter.value}, {"choices", parameter.choices}});
    list.push_back({{"name", chart.name}, {"title", chart.title}, {"parameters", parameters}});
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void list_charts(const PlotArguments& arguments, const SavedCharts& charts) {
  if (!arguments.out.empty()) {
    throw std::invalid_argument(
        fmt::format("--out: expected a --chart NAME or --chart all to write, got none in front of {}",
                    quote(arguments.out)));
  }
  if (arguments.json) return print_exact(list_json(charts));
  std::size_t width = 0;
  for (const SavedChart& chart : charts.charts) width = std::max(width, chart.name.size());
  for (const SavedChart& chart : charts.charts)
    print_out("{:{}}  {}\n{}", chart.name, width, chart.title, parameters_text(chart));
  if (charts.charts.empty()) print_out("The report has no charts: no run has a result.\n");
}

bool is_format(const std::string& name) {
  return std::ranges::find(kPlotFormats, name) != kPlotFormats.end();
}

// What --format or the ending of the file says.
std::string format_of(const PlotArguments& arguments) {
  if (arguments.chart == kAllCharts) return arguments.format.empty() ? "svg" : arguments.format;
  if (arguments.out == kStandardOutput) {
    if (!arguments.format.empty()) return arguments.format;
    throw std::invalid_argument("--format: expected svg, png or json with --out -, got none");
  }
  const std::string extension = fs::path(arguments.out).extension().string();
  const std::string ending = extension.empty() ? "" : extension.substr(1);
  if (!arguments.format.empty()) {
    if (!is_format(ending) || ending == arguments.format) return arguments.format;
    throw std::invalid_argument(fmt::format("--format: expected {} or none for {}, got {}", ending,
                                            quote(arguments.out), arguments.format));
  }
  if (is_format(ending)) return ending;
  throw std::invalid_argument(
      fmt::format("--out: expected a file that ends in .svg, .png or .json, or a --format, got {}",
                  quote(arguments.out)));
}

void check_plot(const PlotArguments& arguments, const std::string& format) {
  if (arguments.json)
    throw std::invalid_argument("--json: expected no --chart beside it, as it lists the charts");
  if (arguments.scale && format != "png")
    throw std::invalid_argument(fmt::format("--scale: expected a png, got {}, which has no pixels", format));
  if (arguments.chart != kAllCharts) return;
  if (arguments.out == kStandardOutput)
    throw std::invalid_argument("--out: expected a folder for --chart all, got -");
  if (!arguments.settings.parameters.empty())
    throw std::invalid_argument("--set: expected a --chart NAME to change, got --chart all");
}

// The charts that are written, with their specs. Of all charts, those that are made of parts keep their
// widths.
std::vector<std::pair<std::string, std::string>> specs_of(const PlotArguments& arguments,
                                                          const SavedCharts& charts) {
  if (arguments.chart != kAllCharts)
    return {{arguments.chart, chart_spec(charts, arguments.chart, arguments.settings)}};
  std::vector<std::pair<std::string, std::string>> specs;
  for (const SavedChart& chart : charts.charts) {
    ChartSettings settings = arguments.settings;
    if (!chart.has_width) settings.width_px.reset();
    specs.emplace_back(chart.name, chart_spec(charts, chart.name, settings));
  }
  return specs;
}

void write_charts(const PlotArguments& arguments, const SavedCharts& charts, Outputs& outputs) {
  if (arguments.chart != kAllCharts) charts.find(arguments.chart);
  if (arguments.out.empty()) {
    throw std::invalid_argument(fmt::format(
        "--out: expected {}, got none",
        arguments.chart == kAllCharts ? "a folder" : "a file that ends in .svg, .png or .json, or -"));
  }
  const std::string format = format_of(arguments);
  check_plot(arguments, format);
  const auto specs = specs_of(arguments, charts);
  const bool is_all = arguments.chart == kAllCharts;
  const fs::path folder = is_all ? fs::path(arguments.out) : fs::path(arguments.out).parent_path();
  std::vector<std::string> names;
  for (const auto& [name, spec] : specs)
    names.push_back(is_all ? name + "." + format : fs::path(arguments.out).filename().string());
  if (arguments.out != kStandardOutput) outputs.expect({}, folder.string(), names);
  std::vector<std::string> pictures;
  if (format == "json") {
    for (const auto& [name, spec] : specs) pictures.push_back(spec);
  } else {
    constexpr double kSharp = 2;  // a png of twice the size of the page, for screens of any density
    pictures = draw_charts({.format = format, .scale = arguments.scale.value_or(kSharp), .specs = specs},
                           arguments.python);
  }
  if (arguments.out == kStandardOutput) return print_exact(pictures.front());
  std::vector<Outputs::Text> files;
  for (std::size_t i = 0; i < specs.size(); ++i) files.emplace_back(names[i], std::move(pictures[i]));
  outputs.write(folder.string(), files);
  if (arguments.quiet) return;
  for (const std::string& name : names) print_out("{}\n", (folder / name).string());
}

void plot(const PlotArguments& arguments, Outputs& outputs) {
  const SavedCharts charts = load_charts(arguments.report);
  if (arguments.chart.empty()) {
    list_charts(arguments, charts);
  } else {
    write_charts(arguments, charts, outputs);
  }
}

}  // namespace

void add_plot_command(CLI::App& app, const CommandContext& context) {
  auto arguments = std::make_shared<PlotArguments>();
  CLI::App* command = app.add_subcommand(
      "plot", "Write charts of a report as SVG, PNG or Vega-Lite files; without --chart, list them");
  command->add_option("report", arguments->report, "Folder of a report, or its report.json or charts.json")
      ->required();
  command->add_option("--chart", arguments->chart, "Name of the chart, or all");
  command->add_option("--out", arguments->out,
                      "File that ends in .svg, .png or .json (a whole Vega-Lite spec), or - for standard "
                      "output; of all charts, a folder");
  command->add_option("--format", arguments->format, "Format where no ending says it; of all charts, svg")
      ->check(member_check(kPlotFormats));
  command
      ->add_option("--width", arguments->settings.width_px,
                   "Pixels, instead of the chart's own width; charts that are made of parts keep theirs")
      ->check(CLI::Range(50, 10000));
  command->add_option("--scale", arguments->scale, "Pixels of a png for each of the chart's; 2 if not set")
      ->check(CLI::Range(0.1, 10.0));
  command
      ->add_option("--set", arguments->settings.parameters,
                   "Set a value that the chart lets choose, as the list shows it; again for more")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command->add_option("--python", arguments->python,
                      "Python that has vl-convert-python, which draws svg and png; else $PACKSIM_PYTHON, one "
                      "beside the program, or python3");
  context.outputs.add_force_option(*command);
  command->add_flag("--json", arguments->json, "List the charts as JSON");
  command->add_flag("--quiet", arguments->quiet, "Print nothing but errors");
  command->callback([arguments, context] { plot(*arguments, context.outputs); });
}

}  // namespace packsim
