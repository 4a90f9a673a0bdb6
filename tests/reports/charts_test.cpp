#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "example_report.hpp"
#include "reports/charts/chart_data.hpp"
#include "reports/charts/charts.hpp"
#include "reports/charts/charts_json.hpp"
#include "reports/files/embedded.hpp"
#include "reports/formats/formats.hpp"

using namespace packsim;
using Json = nlohmann::json;

namespace {

void collect_data_names(const Json& node, std::set<std::string>& names) {
  if (node.is_object() && node.contains("data") && node["data"].contains("name")) {
    names.insert(node["data"]["name"].get<std::string>());
  }
  for (const Json& child : node) {
    if (child.is_structured()) collect_data_names(child, names);
  }
}

Json data() {
  return Json(formats_detail::chart_data(example_report()).sets);
}

}  // namespace

TEST_CASE("every chart spec parses, is on the page, and names data sets that exist") {
  const Json every_data_set = Json(formats_detail::chart_data(priced_report()).sets);
  const std::string html = to_html(priced_report());
  int n_specs = 0;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.ends_with(".vl.json")) continue;
    ++n_specs;
    INFO(file.name);
    const Json spec = Json::parse(file.text);
    CHECK(spec["$schema"] == "https://vega.github.io/schema/vega-lite/v6.json");
    std::set<std::string> names;
    collect_data_names(spec, names);
    CHECK_FALSE(names.empty());
    CHECK(every_data_set.contains(spec["usermeta"]["shown_with"].get<std::string>()));
    for (const std::string& name : names) CHECK(every_data_set.contains(name));
    const std::string chart(file.name.substr(0, file.name.size() - std::string_view(".vl.json").size()));
    CHECK(html.find("data-chart=\"" + chart + "\"") != std::string::npos);
  }
  CHECK(n_specs == 19);
}

TEST_CASE("the embedded files are whole and unknown names are refused") {
  const std::string_view bundle = embedded_file("vega_bundle.js");
  CHECK(bundle.size() > 500'000);
  CHECK(bundle.find("window.vegaEmbed=") != std::string_view::npos);
  CHECK(embedded_file("vega_versions.txt").starts_with("Vega "));
  CHECK_THROWS_AS(embedded_file("no_such_file"), std::logic_error);
}

TEST_CASE("bars are sorted by GPU-days, and one that is far too long is broken off") {
  Report report = example_report();  // isf with 5 GPU-days, hbp with 4
  report.runs[1].times->gpu_days_low = 3.5;
  report.runs[1].times->gpu_days_high = 4.75;
  report.runs[1].bound = BoundGap{.gpu_days = 3.2, .space = "packs, SP and ZeRO 1", .above_fraction = 0.25};
  report.runs.insert(report.runs.begin(), example_misfit("large"));
  report.runs.insert(report.runs.begin(), example_run("none", 16));
  const Json runs = Json(formats_detail::chart_data(report).sets)["runs"];
  Json names = Json::array();
  for (const Json& run : runs) names.push_back(run["run"]);
  CHECK(names == Json{"hbp", "isf", "none", "large"});
  CHECK(runs[0]["interval"] == "3.50 to 4.75");
  CHECK(runs[0]["low_gpu_days"] == 3.5);
  CHECK(runs[0]["bound_gpu_days"] == 3.2);
  CHECK(runs[1]["low_gpu_days"].is_null());  // no interval is known
  // Over three times the median of 4, 5 and 16; a quarter behind the 5 of isf.
  CHECK(runs[2]["broken"] == true);
  CHECK(runs[2]["bar_gpu_days"] == 6.25);
  CHECK(runs[2]["gpu_days"] == 16);

  report.runs.front().times->gpu_days = 15;  // not over it
  const Json whole = Json(formats_detail::chart_data(report).sets)["runs"];
  CHECK(whole[2]["broken"] == false);
  CHECK(whole[2]["bar_gpu_days"] == 15);
}

TEST_CASE("a run's parts of GPU time add up to its GPU-days") {
  const Json rows = data()["time_parts"];
  double gpu_days = 0;
  for (const Json& row : rows) {
    if (row["run"] == "hbp") gpu_days += row["gpu_days"].get<double>();
  }
  CHECK(gpu_days == Approx(4));
}

TEST_CASE("the legend of GPU time has what some run that fits spends time on, in the order of the stack") {
  Report report = example_report();
  report.runs[1].times->shares.by_cause[static_cast<std::size_t>(Cause::pipeline)] = 0.125;
  report.runs.push_back(example_misfit("large"));
  const Json datasets = Json(formats_detail::chart_data(report).sets);
  CHECK(datasets["parts"] == Json({{{"part", "linear layers"}, {"position", 0}},
                                   {{"part", "pipeline transfer"}, {"position", 1}},
                                   {{"part", "idle"}, {"position", 2}}}));
  std::set<std::string> names;
  for (const Json& row : datasets["time_parts"]) names.insert(row["part"].get<std::string>());
  CHECK(names == std::set<std::string>{"linear layers", "pipeline transfer", "idle"});
}

TEST_CASE("each part of GPU time has a colour, the same in every report") {
  Report report = example_report();
  report.runs[0].times->shares.by_cause.fill(1.0 / 12);
  report.runs[0].times->shares.idle = 1.0 / 12;
  Json names = Json::array();
  const Json datasets = Json(formats_detail::chart_data(report).sets);
  for (const Json& row : datasets["parts"]) names.push_back(row["part"]);
  const Json spec = Json::parse(embedded_file("time_parts.vl.json"));
  const Json colour = spec["layer"][0]["encoding"]["color"];
  CHECK(colour["scale"]["domain"] == names);
  const std::set<Json> colours(colour["scale"]["range"].begin(), colour["scale"]["range"].end());
  CHECK(colours.size() == names.size());
}

TEST_CASE("attention work is relative to the busiest rank, which comes first") {
  const Json row = data()["rank_work"][0];
  CHECK(row["work"] == Json({1.0, 0.5}));  // of 4e9 and 8e9 pairs
  CHECK(row["pairs"] == Json({8e9, 4e9}));
  CHECK(row["caption"] == "iteration 7, 128K, SP 8: ABR 0.250");
}

TEST_CASE("a chart shows four of many sampled iterations and 128 of many ranks, extremes included") {
  Report report = example_report();
  SampledIteration sample = report.runs[0].sampled_iterations[0];
  sample.attention_pairs.clear();
  for (int rank = 0; rank < 1000; ++rank) sample.attention_pairs.push_back(1 + rank);
  report.runs[0].sampled_iterations.clear();
  for (int i = 0; i < 10; ++i) {
    sample.iteration = i;
    report.runs[0].sampled_iterations.push_back(sample);
  }
  report.runs.resize(1);
  const Json rows = Json(formats_detail::chart_data(report).sets)["rank_work"];
  REQUIRE(rows.size() == 4);
  CHECK(rows[0]["iteration"] == 0);
  CHECK(rows[3]["iteration"] == 9);
  CHECK(rows[0]["n_ranks"] == 1000);
  REQUIRE(rows[0]["pairs"].size() == 128);
  CHECK(rows[0]["pairs"].front() == 1000);
  CHECK(rows[0]["pairs"].back() == 1);
}

TEST_CASE("length bins are named by their upper bound and shares are of the data set") {
  const Json rows = data()["lengths"];
  CHECK(rows[1]["length"] == "2");
  CHECK(rows[1]["samples"] == 0.5);
  CHECK(rows[1]["tokens"] == 0.66667);
}

TEST_CASE("a waterfall's parts add up to each run's total in whole units") {
  Report report = example_report();
  report.runs[0].times->gpu_days = 5.00049;
  report.runs[0].times->shares.by_cause.fill(1.0 / 12);
  report.runs[0].times->shares.idle = 1.0 / 12;
  const Json rows = Json(formats_detail::chart_data(report).sets)["waterfall"];
  std::map<std::string, long> parts;
  std::map<std::string, long> totals;
  for (const Json& row : rows) {
    CHECK(row["decimals"] == 3);  // four digits of hbp's 4 GPU-days
    const auto units = row["units"].get<long>();
    if (row["kind"] == "part") parts[row["run"]] += units;
    if (row["kind"] == "to") totals[row["run"]] = units;
  }
  CHECK(totals == std::map<std::string, long>{{"hbp", 4000}, {"isf", 5000}});
  CHECK(parts == totals);

  report.runs.resize(1);  // nothing to compare
  CHECK(Json(formats_detail::chart_data(report).sets)["waterfall"].empty());
}

TEST_CASE("a chart offers every run that has its data, the cheapest first") {
  const formats_detail::ChartData data = formats_detail::chart_data(priced_report());
  for (const formats_detail::Chart& chart : formats_detail::charts_of(data)) {
    if (chart.name != "timelines" && chart.name != "waterfall") continue;
    const Json params = Json(chart.spec)["params"];
    CHECK(params[0]["bind"]["options"] == Json{"hbp", "isf"});
    // A waterfall goes from the baseline to the cheapest run.
    CHECK(params[0]["value"] == (chart.name == "waterfall" ? "isf" : "hbp"));
    CHECK(params[1]["value"] == (chart.name == "waterfall" ? "hbp" : "slowest"));
  }
}

TEST_CASE("memory, packs and evidence are parts that follow each other") {
  const Json sets = Json(formats_detail::chart_data(priced_report()).sets);
  // 40e9 and 24e9 bytes of 80e9, in GiB.
  CHECK(sets["memory"][0]["to_gib"] == 37.253);
  CHECK(sets["memory"][1]["from_gib"] == 37.253);
  CHECK(sets["memory"][1]["to_gib"] == 59.605);
  CHECK(sets["memory"][0]["limit_gib"] == 74.506);
  CHECK(sets["packs"][0]["to"] == 1);
  CHECK(sets["packs"][0]["capacity"] == "128K");
  CHECK(sets["evidence"][0]["evidence"] == "measured");
  CHECK(sets["evidence"][0]["to"] == 0.5);
  CHECK(sets["evidence"][1]["evidence"] == "extrapolated");
  CHECK(sets["evidence"][1]["to"] == 0.75);
  CHECK(sets["cost"][0]["label"] == "192 (160 to 240)");
}

namespace {

const formats_detail::Chart* find_chart(const std::vector<formats_detail::Chart>& charts,
                                        std::string_view name) {
  const auto found = std::ranges::find(charts, name, &formats_detail::Chart::name);
  return found == charts.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("a chart of zeros is not drawn anywhere, and a sentence says why") {
  Report report = priced_report();
  for (StrategyResult& run : report.runs) {
    run.abr_over_run = {{.first_iteration = 0, .last_iteration = 99, .least = 0, .mean = 0, .most = 0}};
    for (SampledIteration& sample : run.sampled_iterations) sample.abr = 0;
  }
  const auto charts = formats_detail::charts_of(formats_detail::chart_data(report));
  const std::string html = to_html(report);
  const Json specs = Json::parse(to_charts_json(report))["specs"];
  for (const char* name : {"abr", "rank_work"}) {
    INFO(name);
    REQUIRE(find_chart(charts, name) != nullptr);
    CHECK_FALSE(find_chart(charts, name)->if_zero.empty());
    CHECK(html.find(find_chart(charts, name)->if_zero) != std::string::npos);
    CHECK(html.find(std::string("data-chart=\"") + name) == std::string::npos);
    CHECK_FALSE(specs.contains(name));
  }
  CHECK(specs.contains("step_times"));
}

TEST_CASE("a chart of one run does not offer the runs that have zeros only") {
  Report report = priced_report();
  report.runs[1].abr_over_run[0].most = 0;  // hbp
  report.runs[1].abr_over_run[0].mean = 0;
  for (MixtureWindowResult& window : report.runs[1].mixture->windows) {
    window.abr = 0;
    window.fill_fraction = std::nan("");  // of a run whose packs have no capacity
  }
  const auto charts = formats_detail::charts_of(formats_detail::chart_data(report));
  const formats_detail::Chart& abr = *find_chart(charts, "abr");
  CHECK(Json(abr.spec)["params"][0]["bind"]["options"] == Json{"isf"});
  const Json windows = Json(find_chart(charts, "mixture_windows")->spec)["params"];
  CHECK(windows[0]["bind"]["options"] == Json{"isf"});
  CHECK(abr.caption.ends_with(" Not offered: 1 run of which all values are 0."));
  CHECK(Json(find_chart(charts, "step_times")->spec)["params"][0]["bind"]["options"] == Json{"hbp", "isf"});
}

TEST_CASE("of many runs, charts and tables show the first ones by GPU-days and the baseline") {
  Report report = example_report();
  report.runs = {example_run("isf", 1e6)};  // the baseline, last by GPU-days
  for (int i = 0; i < 9999; ++i) report.runs.push_back(example_run("run " + std::to_string(i), 20000 - i));
  const Json runs = Json(formats_detail::chart_data(report).sets)["runs"];
  REQUIRE(runs.size() == 32);
  CHECK(runs[0]["run"] == "run 9998");   // 20000 - 9998 GPU-days, the fewest
  CHECK(runs[30]["run"] == "run 9968");  // the 31st
  CHECK(runs[31]["run"] == "isf");
  const std::string html = to_html(report);
  CHECK(
      html.find("Charts and tables show 32 of 10,000 runs: those with the fewest GPU-days, runs that can be "
                "compared before others; and the baseline. report.csv and report.json have all.") !=
      std::string::npos);
  CHECK(html.size() < 20'000'000);
  CHECK(html.find("run 9967<") == std::string::npos);
  const std::string csv = to_csv(report);
  CHECK(std::ranges::count(csv, '\n') == 10'001);
  CHECK(to_html(example_report()).find("Charts and tables show") == std::string::npos);
}
