// `packsim recommend DATA`: a question about data, without a scenario, and what may be typed for it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/recommend/amounts.hpp"
#include "cli/recommend/cluster_offers.hpp"
#include "recommend/recommend.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/sweep_rows.hpp"
#include "tests/shipped_data.hpp"

using Catch::Contains;
using nlohmann::json;
using namespace packsim;
using packsim_test::ProgramRun;
using packsim_test::read_text;
using packsim_test::run_shell;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

namespace {

std::string lengths_csv() {
  std::string text = "tokens\n";
  for (int i = 0; i < 200; ++i) text += std::to_string(100 + 37 * i * i % 3000) + "\n";
  return text;
}

ProgramRun recommended(const TemporaryFolder& folder, const std::string& arguments) {
  return run_shell(folder, "COLUMNS=80 packsim recommend " + arguments);
}

json best_of(const TemporaryFolder& folder, const std::string& answer) {
  const json found = json::parse(read_text(folder / (answer + "/recommendation.json")));
  return found["candidates"][found["best"].get<std::size_t>()];
}

// A stand-in for a Python that has the package: it writes lengths and says with what it was called.
void write_python(const TemporaryFolder& folder) {
  const std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }";
  std::string npy = std::string("\x93NUMPY\x01\x00", 8);
  npy += static_cast<char>(118);
  npy += '\0';
  npy += header + std::string(117 - header.size(), ' ') + "\n";
  npy += std::string("\x00\x10\x00\x00\x00\x08\x00\x00", 8);
  write_text(folder / "two.npy", npy);
  write_text(folder / "python", R"(#!/bin/sh
[ "$1" = -c ] && exit 0
echo "$@" > called.txt
[ "$3" = bad.jsonl ] && { echo "bad.jsonl: line 1" >&2; exit 2; }
cp two.npy "$5"
echo "2 samples"
)");
  std::filesystem::permissions(folder / "python", std::filesystem::perms::owner_all);
}

}  // namespace

TEST_CASE("One command answers from data, and the scenario that it writes gives the same numbers",
          "[plain]") {
  const TemporaryFolder folder;
  write_text(folder / "lengths.csv", lengths_csv());
  const std::string question = " --gpus 4xH100=2.5,8xh200=3 --deadline 12h --budget '900 EUR' ";
  const ProgramRun run =
      recommended(folder, "lengths.csv --model qwen2.5-7b --trainer hbp --epochs 3 --out answer" + question);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  int n_lines = 0;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line); ++n_lines) CHECK(line.size() <= 80);
  CHECK(n_lines <= 32);
  CHECK_THAT(run.out, Contains("Doubts: ") && Contains("Runners-up:") && Contains("EUR"));
  // The other GPU's best is among the runners-up, with the price at which it would be as cheap.
  CHECK_THAT(run.out, Contains("8 x h200-sxm-141gb") && Contains("a GPU-hour\n"));

  const json best = best_of(folder, "answer");
  CHECK(best["cluster_type"] == "h100-sxm-80gb");
  const ProgramRun again = recommended(folder, "answer/job.json --out again" + question);
  INFO(again.err);
  REQUIRE(again.exit_code == 0);
  CHECK(best_of(folder, "again") == best);
  const ProgramRun compared =
      run_shell(folder, "packsim compare answer/scenario.json --json --quiet --out r");
  REQUIRE(compared.exit_code == 0);
  const std::string swept_nodes = std::to_string(best["nodes"].get<int>());
  const ProgramRun swept =
      run_shell(folder, "packsim sweep answer/scenario.json --vary cluster.nodes=" + swept_nodes +
                            " --out s.db --quiet");
  INFO(swept.err);
  REQUIRE(swept.exit_code == 0);
  const auto n_same = [&](const json& runs) {
    return std::ranges::count_if(runs, [&](const json& one) {
      return one["name"] == best["strategy"] && one["gpu_days"] == best["times"]["gpu_days"];
    });
  };
  CHECK(n_same(json::parse(compared.out)["runs"]) == 1);
  CHECK(n_same(json::parse(packsim_test::rows_of(folder / "s.db").dump())) == 1);

  // The planner, and what the trainer does by itself.
  const json scenario = json::parse(read_text(folder / "answer/scenario.json"));
  REQUIRE(scenario["strategies"].size() == 2);
  CHECK(scenario["strategies"][0]["strategy"] == "isf");
  CHECK(scenario["strategies"][1]["strategy"] == "planner");
  CHECK(scenario["training"]["epochs"] == 3);
}

TEST_CASE("Data that are no lengths are measured by the Python package", "[plain]") {
  const TemporaryFolder folder;
  write_python(folder);
  write_text(folder / "texts.jsonl", "{\"text\": \"one\"}\n");
  std::filesystem::create_directories(folder / "model");
  write_text(folder / "model/tokenizer.json", "{}");
  write_text(folder / "model/config.json",
             read_text(packsim_test::source_dir() + "/models/architectures/qwen2.5-7b.json"));
  const std::string rest = " --trainer hbp --gpus 8xH100 --out answer";
  const std::string python = "PACKSIM_PYTHON=./python ";
  const auto called = [&](const std::string& arguments) {
    const ProgramRun run = run_shell(folder, python + "packsim recommend " + arguments + rest);
    INFO(run.err);
    CHECK(run.exit_code == 0);
    CHECK(json::parse(read_text(folder / "answer/scenario.json"))["lengths"]["mix"][0]["source"] ==
          "./lengths.npy");
    return read_text(folder / "called.txt");
  };
  CHECK(called("texts.jsonl --model qwen2.5-7b --column text --tokenizer t.json") ==
        "-m packsim.lengths texts.jsonl --out answer/lengths.npy --cache answer/lengths-cache --tokenizer "
        "t.json --column text\n");
  // A folder always is, with the model's own tokenizer.
  CHECK(called("model --model model/config.json") ==
        "-m packsim.lengths model --out answer/lengths.npy --cache answer/lengths-cache --tokenizer "
        "model/tokenizer.json\n");
  const ProgramRun bad = run_shell(
      folder, python + "packsim recommend bad.jsonl --model qwen2.5-7b --column text" + rest + " || exit $?");
  CHECK(bad.exit_code == 2);
}

TEST_CASE("A question about data says all that is missing") {
  const TemporaryFolder folder;
  write_text(folder / "lengths.csv", lengths_csv());
  const auto error_of = [&](const std::string& arguments) {
    const ProgramRun run = recommended(folder, arguments);
    CHECK(run.exit_code == 2);
    return run.err;
  };
  CHECK_THAT(error_of("lengths.csv --gpus 8xH100"), Contains("--model: expected the model that is trained"));
  CHECK_THAT(error_of("lengths.csv --model qwen2.5-7b"), Contains("--gpus: expected what may be booked"));
  CHECK_THAT(error_of("lengths.csv --model qwen2.5-7b --gpus 8xH100 --nodes 2"),
             Contains("--nodes: expected none where --gpus says how many GPUs"));
  CHECK_THAT(error_of("lengths.csv --model qwen2.5-7b --gpus 8xH100,H200"),
             Contains("for all types or for none"));
  CHECK_THAT(error_of("lengths.csv --model qwen2.5-7b --gpus 12xH100,A100,x,8xH100=z"),
             Contains("whole nodes, got 12") &&
                 Contains("A100: expected one of a100-sxm-40gb, a100-sxm-80gb") &&
                 Contains("got \"8xH100=z\""));
  // Before anything is measured or read.
  CHECK_THAT(error_of("texts.parquet --model qwen2.5-7b --gpus 8xH100 --deadline 12q"),
             Contains("--deadline: expected hours above 0"));
  const ProgramRun none = recommended(folder, "none.npy --model qwen2.5-7b --gpus 8xH100");
  CHECK(none.exit_code == 3);
  CHECK(none.err == "packsim: none.npy: No such file or directory\n");
  // Standard input is a scenario.
  CHECK_THAT(error_of("- --gpus 8xH100 </dev/null"), !Contains("--model"));
  // A scenario says by itself what these options say of data.
  const std::string shipped = "llama3.1-8b-tulu3-4k --gpus 8xH100 ";
  CHECK_THAT(error_of(shipped + "--model qwen2.5-7b --epochs 2"),
             Contains("--model: expected none beside a scenario") &&
                 Contains("--epochs: expected none beside a scenario"));
  CHECK_THAT(error_of(shipped + "--deadline 12q"), Contains("expected hours above 0, or a duration such as"));
  CHECK_THAT(error_of(shipped + "--budget -3"), Contains("--budget: expected money above 0"));
}

TEST_CASE("Durations and money are read as people write them") {
  const std::vector<std::pair<std::string, double>> durations = {
      {"12", 12},     {"12h", 12},   {"1.5 hours", 1.5}, {"2d", 48},      {"90m", 1.5},
      {"1d 12h", 36}, {"1d12h", 36}, {"2 weeks", 336},   {" 30 min ", .5}};
  for (const auto& [text, hours] : durations) {
    CAPTURE(text);
    CHECK(hours_of("--deadline", text) == Approx(hours));
  }
  for (const char* text :
       {"", "h", "12 12", "12x", "-1", "0", "0h", "nan", "inf", "1e309", "12h 3", "1e13"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(hours_of("--deadline", text), Contains("--deadline: expected hours above 0"));
  }
  for (const auto& [text, currency] : std::vector<std::pair<std::string, std::string>>{
           {"900", ""}, {"900 EUR", "EUR"}, {"EUR 900", "EUR"}, {"$900", "$"}, {"900€", "€"}}) {
    CAPTURE(text);
    CHECK(money_of("--budget", text).amount == 900);
    CHECK(money_of("--budget", text).currency == currency);
  }
  for (const char* text : {"", "EUR", "$900 USD", "1,200", "900 EUR 3", "-900", "0", "nan", "1e309"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(money_of("--budget", text), Contains("--budget: expected money above 0"));
  }
}

TEST_CASE("GPUs are named shortly, by number, and with prices") {
  const auto offers =
      cluster_offers({"1xh100=2,16xH100=2", "8xH100=2,64xB200=4"}, nullptr, packsim_test::kData);
  REQUIRE(offers.size() == 3);
  CHECK(offers[0].type == "h100-sxm-80gb");
  CHECK(offers[0].gpus_per_node == 1);
  CHECK(offers[0].node_counts == std::vector<int>{1});
  CHECK(offers[1].gpus_per_node == 8);
  CHECK(offers[1].node_counts == std::vector<int>{1, 2});
  CHECK(offers[1].gpu_hour_price == 2);
  CHECK(offers[2].type == "b200-sxm-180gb");
  CHECK(offers[2].node_counts == std::vector<int>{8});
  // As before: every number of nodes of a type.
  const auto types = cluster_offers({"h100-nvl-94gb", "a100-sxm-40gb-efa"}, nullptr, packsim_test::kData);
  CHECK(types[0].type == "h100-nvl-94gb");
  CHECK(types[1].type == "a100-sxm-40gb-efa");
  CHECK(types[1].node_counts.empty());
}

TEST_CASE("a price list says what each type costs, on which terms, and --gpus chooses of it") {
  const packsim::PriceList list{
      .source = "a quote",
      .date = "2026-11-01",
      .prices = {{.cluster = "H100", .gpu_hour_price = 2.5, .term = "on demand"},
                 {.cluster = "h100-sxm-80gb", .gpu_hour_price = 1, .term = "spot", .spot_mtbf_hours = 12},
                 {.cluster = "h200", .gpu_hour_price = 3, .hardware = "h200-measured"}}};
  const auto all = cluster_offers({}, &list, packsim_test::kData);
  REQUIRE(all.size() == 3);
  CHECK(name_of(all[0]) == "h100-sxm-80gb (on demand)");
  CHECK(name_of(all[1]) == "h100-sxm-80gb (spot)");
  CHECK(all[1].spot_mtbf_hours == 12);
  CHECK(name_of(all[2]) == "h200-sxm-141gb");
  CHECK(settings_of(all[1], 2) == std::vector<std::string>{"cluster.type=\"h100-sxm-80gb\"",
                                                           "cluster.nodes=2", "cluster.gpu_hour_price=1",
                                                           "failures.spot_mtbf_hours=12"});
  CHECK(settings_of(all[2], 1).back() == "hardware=\"h200-measured\"");
  // Of two sizes of one type, each price is an offer with both.
  const auto sized = cluster_offers({"8xH100,16xH100"}, &list, packsim_test::kData);
  REQUIRE(sized.size() == 2);
  for (const auto& offer : sized) CHECK(offer.node_counts == std::vector<int>{1, 2});
  CHECK(sized[0].gpu_hour_price == 2.5);
  CHECK(sized[1].gpu_hour_price == 1);
  CHECK_THROWS_WITH(
      cluster_offers({"8xB200,H100=2"}, &list, packsim_test::kData),
      "--gpus: b200-sxm-180gb: expected a type with a price in the list (h100-sxm-80gb, h100-sxm-80gb, "
      "h200-sxm-141gb), got none\n--gpus: h100-sxm-80gb: expected no price beside --prices, got 2");
}
