#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.hpp"

using namespace packsim_test;
using nlohmann::json;

namespace {

// Colours, moves the cursor, ends lines, turns text around, and is not UTF-8.
const std::string kHostile = "\x1b[31m\x1b]0;title\a\u009b2J\r\n\u202Etxt";

json read_shipped(const std::string& path) {
  return json::parse(read_text(source_dir() + "/" + path));
}

// Writes a scenario whose every text is hostile, with its model, cluster type and profile.
void write_hostile_job(const TemporaryFolder& folder) {
  for (const auto& [path, name] :
       {std::pair{"models/architectures/llama3.1-8b.json", "model.json"},
        std::pair{"models/clusters/h100-sxm-80gb.json", "cluster.json"},
        std::pair{"calibration/profiles/deepspeed-ulysses-h100.json", "profile.json"}}) {
    json file = read_shipped(path);
    file["name"] = kHostile;
    file["source"] = kHostile;
    write_text(folder / name, file.dump());
  }
  write_text(folder / "a\x1b[31m.csv", "tokens\n1000\n3000\n5000\n");
  const json scenario = {
      {"format", 1},
      {"name", kHostile},
      {"description", kHostile},
      {"model", "model.json"},
      {"cluster", {{"type", "cluster.json"}, {"nodes", 1}}},
      {"profile", "profile.json"},
      {"training", {{"tokens_per_iteration", 8192}, {"zero_stage", 3}}},
      {"lengths", {{"mix", {{{"source", "a\x1b[31m.csv"}}}}}},
      {"strategies",
       {{{"name", "=cmd|'/c calc'!A0" + kHostile}, {"strategy", "isf"}, {"capacity_tokens", 8192}},
        {{"name", std::string(100'000, 'x')}, {"strategy", "bfd"}, {"capacity_tokens", 8192}}}}};
  write_text(folder / "job.json", scenario.dump());
}

// The bytes that act on a terminal, in their order.
std::string acting_bytes(const std::string& text) {
  std::string acting;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_c1 =
        byte == 0xC2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xE0U) == 0x80;
    const bool turns_text = text.compare(i, 3, "\u202E") == 0;
    if ((byte < 0x20 && byte != '\n') || byte == 0x7F || is_c1 || turns_text || byte == 0xFF)
      acting += text[i];
  }
  return acting;
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

}  // namespace

TEST_CASE("No text of a file or an argument acts on the terminal, and none floods it") {
  const TemporaryFolder folder;
  write_hostile_job(folder);
  const std::string arg = "\"$(printf '\\033[31m\\r\\n\\377')\"";
  const std::string too_long = "\"$(head -c 100000 /dev/zero | tr '\\0' x)\"";
  for (const std::string& command : std::vector<std::string>{
           "check job.json", "compare job.json --out report", "compare job.json --strategies " + arg,
           "run job.json --strategy " + arg, "tune job.json", "trace job.json --strategy " + arg,
           "check " + arg, "check " + too_long, "list " + arg, arg, "pack --lengths " + arg,
           "pack --lengths a*.csv --capacity 8192", "pack --lengths a*.csv --strategy " + too_long,
           "plan " + arg, "calibrate fit " + arg, "calibrate coverage job.json --hardware " + arg,
           "compare job.json --out /dev/null/" + arg}) {
    CAPTURE(command);
    const ProgramRun run = run_shell(folder, "packsim " + command);
    CHECK(acting_bytes(run.out).empty());
    CHECK(acting_bytes(run.err).empty());
    CHECK(run.out.size() + run.err.size() > 0);
    CHECK(longest_line(run.out) < 5000);
    CHECK(longest_line(run.err) < 5000);
  }
}

TEST_CASE("Reports keep hostile text as data: JSON exactly, CSV without formulas, pages without controls") {
  const TemporaryFolder folder;
  write_hostile_job(folder);
  const ProgramRun run = run_shell(folder, "packsim compare job.json --out report --quiet");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(json::parse(read_text(folder / "report/report.json"))["manifest"]["scenario_name"] == kHostile);
  CHECK(read_text(folder / "report/report.csv").find("\r\n\"'=cmd|'/c calc'!A0\\x1b[31m") !=
        std::string::npos);
  const std::string page = read_text(folder / "report/report.html");
  CHECK(acting_bytes(page.substr(0, page.find("<!-- Vega"))).empty());  // Vega's own script follows
}

TEST_CASE("Lists show hostile descriptions as data") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "data/scenarios");
  write_text(folder / "data/scenarios/one.json", json({{"description", kHostile}}).dump());
  const ProgramRun run = run_shell(folder, "PACKSIM_DATA=data packsim list scenarios");
  CHECK(run.out == "one  \\x1b[31m\\x1b]0;title\\x07\\x9b2J\\x0d\\x0a\\u202etxt\n");
}
