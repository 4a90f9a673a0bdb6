#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "tests/paths.hpp"

namespace {

namespace fs = std::filesystem;

// Who may include whom (docs/architecture.md). A folder may always include itself.
const std::map<std::string, std::set<std::string>> kAllowed = {
    {"packing", {}},
    {"c_api", {"packing"}},
    {"plan_files", {"packing"}},
    {"models", {"packing"}},
    {"sim", {"packing", "models"}},
    {"planning", {"packing", "models", "sim"}},
    {"scenarios", {"packing", "models", "sim"}},
    {"experiment", {"packing", "plan_files", "models", "sim", "planning", "scenarios"}},
    {"reports", {"packing", "models", "sim", "experiment"}},
    {"calibration", {"packing", "models", "scenarios"}},
    {"validation", {"packing", "models", "sim", "scenarios", "experiment", "reports", "calibration"}},
    {"python", {"packing", "plan_files"}},
    {"cli",
     {"packing", "plan_files", "models", "sim", "planning", "scenarios", "experiment", "reports",
      "validation", "calibration"}},
};

struct Include {
  std::string file;
  std::string from;
  std::string to;  // folder of ours, or the whole name of another header
};

std::vector<Include> includes_of(const std::string& folder) {
  static const std::regex kInclude(R"re(^\s*#include\s+["<]([^">]+)[">])re");
  std::vector<Include> includes;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(packsim_test::source_dir() + "/" + folder)) {
    const std::string extension = entry.path().extension();
    if (extension != ".cpp" && extension != ".hpp" && extension != ".h" && extension != ".cc") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      std::smatch match;
      if (!std::regex_search(line, match, kInclude)) continue;
      const std::string header = match[1];
      const std::string top = header.substr(0, header.find('/'));
      includes.push_back({entry.path().string(), folder, kAllowed.contains(top) ? top : header});
    }
  }
  return includes;
}

}  // namespace

TEST_CASE("Folders include only the folders below them") {
  for (const auto& [folder, allowed] : kAllowed) {
    for (const Include& include : includes_of(folder)) {
      if (!kAllowed.contains(include.to) || include.to == folder) continue;
      CAPTURE(include.file, include.to);
      CHECK(allowed.contains(include.to));
    }
  }
}

TEST_CASE("The folders' includes form no cycle") {
  std::vector<std::string> folders;
  for (const auto& [folder, allowed] : kAllowed) folders.push_back(folder);
  const auto index = [&](const std::string& folder) {
    return static_cast<std::size_t>(std::ranges::find(folders, folder) - folders.begin());
  };
  boost::adjacency_list<> graph(folders.size());
  for (const std::string& folder : folders) {
    for (const Include& include : includes_of(folder)) {
      if (kAllowed.contains(include.to) && include.to != folder)
        add_edge(index(folder), index(include.to), graph);
    }
  }
  REQUIRE(num_edges(graph) > 0);
  std::vector<std::size_t> order;
  CHECK_NOTHROW(boost::topological_sort(graph, std::back_inserter(order)));
}

TEST_CASE("The packing core includes the standard library alone") {
  for (const Include& include : includes_of("packing")) {
    CAPTURE(include.file, include.to);
    CHECK((include.to == "packing" || include.to.find_first_of("./") == std::string::npos));
  }
}

TEST_CASE("The C interface includes the packing core and the standard library alone") {
  for (const Include& include : includes_of("c_api")) {
    CAPTURE(include.file, include.to);
    const bool is_standard_c = include.to == "stddef.h" || include.to == "stdint.h";
    const bool is_ours = include.to == "c_api" || include.to == "packing";
    CHECK((is_ours || is_standard_c || include.to.find_first_of("./") == std::string::npos));
    if (include.file.ends_with(".h")) CHECK(is_standard_c);
  }
}

TEST_CASE("Only the planner's .cpp files know the solver's headers") {
  for (const auto& [folder, allowed] : kAllowed) {
    for (const Include& include : includes_of(folder)) {
      const bool of_solver = include.to.starts_with("Cbc") || include.to.starts_with("Osi") ||
                             include.to.starts_with("Clp") || include.to.starts_with("Coin");
      if (!of_solver) continue;
      CAPTURE(include.file, include.to);
      CHECK(folder == "planning");
      CHECK(include.file.ends_with(".cpp"));
    }
  }
}

TEST_CASE("The packing core does no input or output, reads no clock, and starts no threads") {
  for (const Include& include : includes_of("packing")) {
    CAPTURE(include.file);
    for (const char* header :
         {"iostream", "fstream", "cstdio", "filesystem", "chrono", "ctime", "thread", "mutex"}) {
      CHECK(include.to != header);
    }
  }
}
