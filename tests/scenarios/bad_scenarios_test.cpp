#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "files/read_file.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(packsim_test::source_dir()) / "tests" / "bad_scenarios";

// Paths in messages are relative to the current folder, which is the scenarios' while one of these lives.
class InFolder {
 public:
  explicit InFolder(const fs::path& folder) : before_(fs::current_path()) { fs::current_path(folder); }
  ~InFolder() { fs::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  fs::path before_;
};

std::vector<std::string> bad_scenarios() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

// What a user reads on stderr; the data root is written {data}, as it differs from machine to machine.
std::string scenario_messages(const std::string& path) {
  try {
    const Scenario scenario = load_scenario(path, packsim_test::kData);
    draw_lengths(scenario.lengths, scenario.seed);
  } catch (const ScenarioError& error) {
    std::string text = std::string(error.what()) + "\n";
    const std::string root = packsim_test::source_dir();
    for (std::size_t at = text.find(root); at != std::string::npos; at = text.find(root)) {
      text.replace(at, root.size(), "{data}");
    }
    return text;
  }
  return "nothing wrong\n";
}

}  // namespace

TEST_CASE("every bad scenario is refused with exactly the messages beside it") {
  const InFolder in_folder(kFolder);
  const std::vector<std::string> names = bad_scenarios();
  REQUIRE(names.size() >= 45);
  for (const std::string& name : names) {
    INFO(name);
    REQUIRE(fs::exists(name + ".expected"));
    CHECK(scenario_messages(name + ".json") == read_file(name + ".expected"));
  }
}

TEST_CASE("every .expected file has its scenario") {
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".expected") continue;
    INFO(entry.path());
    CHECK(fs::exists(fs::path(entry.path()).replace_extension(".json")));
  }
}

}  // namespace packsim
