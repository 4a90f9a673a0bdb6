#include "reports/saved/chart_spec.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/cli/program.hpp"

using namespace packsim;
using Catch::Contains;

namespace {

// A waterfall with params of each kind; a chart of two parts beside it.
constexpr const char* kCharts = R"({
  "theme": {"background": "transparent", "axis": {"grid": false, "ticks": true}},
  "datasets": {"runs": [{"run": "isf"}], "parts": [{"part": "idle"}], "unused": [{"data": {"name": "no data set"}}]},
  "specs": {
    "waterfall": {
      "usermeta": {"title": "From one run to another", "data": {"name": "of no view"}},
      "width": "container", "data": {"name": "runs"}, "config": {"axis": {"ticks": false}},
      "params": [
        {"name": "from", "value": "isf", "bind": {"input": "select", "options": ["isf", "ffd", 3]}},
        {"name": "size", "value": 2, "bind": {"input": "range", "min": 1, "max": 10}},
        {"name": "sorted", "value": true},
        {"name": "note", "value": ""},
        {"name": "twice", "expr": "2 * size"},
        {"name": "brush", "select": "interval"}
      ],
      "layer": [{"transform": [{"lookup": "run", "from": {"data": {"name": "parts"}, "key": "run"}}]},
                {"data": {"name": "own", "values": [{"data": {"name": "a row"}}]}}]
    },
    "facets": {"hconcat": [{"width": "container", "data": {"name": "runs"}}]}
  }})";

class ChartsFile {
 public:
  explicit ChartsFile(const std::string& text = kCharts) {
    packsim_test::write_text(folder_ / "c.json", text);
  }
  nlohmann::json spec(const ChartSettings& settings, const std::string& name = "waterfall") const {
    return nlohmann::json::parse(chart_spec(load_charts(folder_ / "c.json"), name, settings));
  }
  std::string mistake(const ChartSettings& settings, const std::string& name = "waterfall") const {
    try {
      spec(settings, name);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  }
  SavedCharts load() const { return load_charts(folder_ / "c.json"); }

 private:
  packsim_test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a spec is whole: with its data sets, the theme under its own config, and a width in pixels") {
  const ChartsFile file;
  const nlohmann::json spec = file.spec({});
  CHECK(spec["datasets"] == nlohmann::json({{"runs", {{{"run", "isf"}}}}, {"parts", {{{"part", "idle"}}}}}));
  CHECK(spec["config"] ==
        nlohmann::json({{"background", "white"}, {"axis", {{"grid", false}, {"ticks", false}}}}));
  CHECK(spec["width"] == 900);
  CHECK(file.spec({.width_px = 500, .parameters = {}})["width"] == 500);
  CHECK(file.spec({}, "facets")["hconcat"][0]["width"] == 900);
  CHECK_THAT(file.mistake({.width_px = 500, .parameters = {}}, "facets"),
             Contains("expected a chart with a width of its own, got facets"));
}

TEST_CASE("params keep their types, and take what their controls let choose") {
  const ChartsFile file;
  const auto set = [&](const std::string& setting) {
    const nlohmann::json spec = file.spec({.width_px = {}, .parameters = {setting}});
    for (const nlohmann::json& param : spec["params"])
      if (setting.starts_with(param["name"].get<std::string>() + "=")) return param["value"];
    return nlohmann::json();
  };
  CHECK(set("from=ffd") == "ffd");
  CHECK(set("from=3") == 3);
  CHECK(set("size=2.5") == 2.5);
  CHECK(set("sorted=false") == false);
  CHECK(set("note=a=1") == "a=1");
  CHECK(set("note=3") == "3");
  const SavedChart chart = file.load().find("waterfall");
  REQUIRE(chart.parameters.size() == 4);  // neither the expression nor the selection
  CHECK(chart.parameters[0].value == "isf");
  CHECK(chart.parameters[0].choices == std::vector<std::string>{"isf", "ffd", "3"});
}

TEST_CASE("all mistakes in what is set are told at once, with what was probably meant") {
  const ChartsFile file;
  const std::string all = file.mistake({.width_px = {},
                                        .parameters = {"form=isf", "from=fdf", "size=11", "size=x",
                                                       "sorted=yes", "twice=3", "brush=1", "from"}});
  CHECK(all ==
        "--set: expected a value of the chart waterfall, got \"form\" (did you mean from?)\n"
        "packsim: --set from: expected one of isf, ffd, 3 (did you mean ffd?), got \"fdf\"\n"
        "packsim: --set size: expected a number in 1..10, got \"11\"\n"
        "packsim: --set size: expected a number in 1..10, got \"x\"\n"
        "packsim: --set sorted: expected true or false, got \"yes\"\n"
        "packsim: --set: expected a value of the chart waterfall, got \"twice\" (known: from, size, sorted, "
        "note)\n"
        "packsim: --set: expected a value of the chart waterfall, got \"brush\" (known: from, size, sorted, "
        "note)\n"
        "packsim: --set: expected NAME=VALUE, got \"from\"");
}

TEST_CASE("a data set that the file does not have is a mistake, not an empty chart") {
  const ChartsFile file(
      R"({"theme": {}, "datasets": {}, "specs": {"waterfall": {"data": {"name": "runs"}}}})");
  CHECK_THAT(file.mistake({}), Contains("/specs/waterfall: expected data sets of the file, got \"runs\""));
}
