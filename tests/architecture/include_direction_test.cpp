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
    {"files", {}},
    {"packing", {}},
    {"plan_files", {"files", "packing"}},
    {"models", {"packing"}},
    {"sim", {"packing", "models"}},
    {"planning", {"packing", "models", "sim"}},
    {"scenarios", {"files", "packing", "models", "sim"}},
    {"experiment", {"files", "packing", "plan_files", "models", "sim", "planning", "scenarios"}},
    {"reports", {"files", "packing", "models", "sim", "scenarios", "experiment"}},
    {"sweep", {"files", "packing", "models", "sim", "scenarios", "experiment", "reports"}},
    {"recommend", {"files", "packing", "models", "sim", "planning", "scenarios", "experiment", "reports"}},
    {"calibration", {"files", "packing", "models", "scenarios"}},
    {"validation",
     {"files", "packing", "models", "sim", "scenarios", "experiment", "reports", "calibration"}},
    {"python",
     {"files", "packing", "plan_files", "scenarios", "experiment", "reports", "sweep", "recommend"}},
    {"cli",
     {"files", "packing", "plan_files", "models", "sim", "planning", "scenarios", "experiment", "reports",
      "sweep", "recommend", "validation", "calibration"}},
};

// The same for the folders inside sim/.
const std::map<std::string, std::set<std::string>> kAllowedInSim = {
    {"engine", {}},
    {"network", {"engine"}},
    {"step", {"engine", "network"}},
    {"variability", {}},
    {"reliability", {"variability"}},
    {"run", {"engine", "network", "step", "variability"}},
};

struct Include {
  std::string file;
  std::string to;      // folder of ours, or the whole name of another header
  std::string header;  // as the file names it
};

// What a file includes, as it is written.
std::vector<std::string> headers_of(const fs::path& path) {
  static const std::regex kInclude(R"re(^\s*#include\s+["<]([^">]+)[">])re");
  std::vector<std::string> headers;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_search(line, match, kInclude)) headers.push_back(match[1]);
  }
  return headers;
}

std::vector<Include> includes_of(const std::string& folder) {
  std::vector<Include> includes;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(packsim_test::source_dir() + "/" + folder)) {
    const std::string extension = entry.path().extension();
    if (extension != ".cpp" && extension != ".hpp" && extension != ".h" && extension != ".cc") continue;
    for (const std::string& header : headers_of(entry.path())) {
      const std::string top = header.substr(0, header.find('/'));
      includes.push_back({entry.path().string(), kAllowed.contains(top) ? top : header, header});
    }
  }
  return includes;
}

// Those of packing/ without its C interface.
std::vector<Include> includes_of_core() {
  std::vector<Include> includes = includes_of("packing");
  std::erase_if(includes, [](const Include& include) {
    return include.file.find("/packing/c_api/") != std::string::npos;
  });
  return includes;
}

// The folder inside `top` that a path from the project's root lies in; "." where it lies in `top` itself.
std::string inner_folder(const std::string& path, const std::string& top) {
  const std::string inside = path.substr(top.size() + 1);
  const std::size_t slash = inside.find('/');
  return slash == std::string::npos ? "." : inside.substr(0, slash);
}

struct InnerInclude {
  std::string file;
  std::string from;
  std::string to;
};

// Includes from one folder inside `top` into another.
std::vector<InnerInclude> inner_includes_of(const std::string& top) {
  std::vector<InnerInclude> includes;
  for (const Include& include : includes_of(top)) {
    if (include.to != top) continue;
    const std::string path = fs::relative(include.file, packsim_test::source_dir()).string();
    InnerInclude inner{include.file, inner_folder(path, top), inner_folder(include.header, top)};
    if (inner.from != inner.to) includes.push_back(std::move(inner));
  }
  return includes;
}

// Whether pairs (from, to) form a cycle.
template <typename Pairs>
bool has_cycle(const Pairs& pairs) {
  std::map<std::string, std::size_t> index;
  for (const auto& pair : pairs) {
    index.try_emplace(pair.from, index.size());
    index.try_emplace(pair.to, index.size());
  }
  boost::adjacency_list<> graph(index.size());
  for (const auto& pair : pairs) add_edge(index.at(pair.from), index.at(pair.to), graph);
  std::vector<std::size_t> order;
  try {
    boost::topological_sort(graph, std::back_inserter(order));
  } catch (const boost::not_a_dag&) {
    return true;
  }
  return false;
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
  std::vector<InnerInclude> includes;
  for (const auto& [folder, allowed] : kAllowed) {
    for (const Include& include : includes_of(folder)) {
      if (kAllowed.contains(include.to) && include.to != folder)
        includes.push_back({include.file, folder, include.to});
    }
  }
  REQUIRE(!includes.empty());
  CHECK(!has_cycle(includes));
}

TEST_CASE("Includes between the folders inside a folder form no cycle") {
  CHECK(has_cycle(std::vector<InnerInclude>{{"", "a", "b"}, {"", "b", "a"}}));
  for (const auto& [folder, allowed] : kAllowed) {
    CAPTURE(folder);
    CHECK(!has_cycle(inner_includes_of(folder)));
  }
}

TEST_CASE("Every file of sim/ lies in one of its folders, which include only the folders below them") {
  const std::vector<InnerInclude> includes = inner_includes_of("sim");
  REQUIRE(!includes.empty());
  for (const InnerInclude& include : includes) {
    CAPTURE(include.file, include.to);
    REQUIRE(kAllowedInSim.contains(include.from));
    CHECK(kAllowedInSim.at(include.from).contains(include.to));
  }
}

TEST_CASE("The folders inside packing/ include each other without a cycle, and none is crowded") {
  constexpr std::ptrdiff_t kMostEntries = 25;
  const fs::path root = packsim_test::source_dir();
  std::vector<std::string> folders = {"packing"};
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / "packing")) {
    if (entry.is_directory()) folders.push_back(fs::relative(entry.path(), root));
  }
  const auto index = [&](const fs::path& folder) {
    return static_cast<std::size_t>(std::ranges::find(folders, folder.string()) - folders.begin());
  };
  boost::adjacency_list<> graph(folders.size());
  for (const std::string& folder : folders) {
    CAPTURE(folder);
    CHECK(std::distance(fs::directory_iterator(root / folder), {}) <= kMostEntries);
    for (const fs::directory_entry& entry : fs::directory_iterator(root / folder)) {
      if (entry.is_directory()) continue;
      for (const std::string& header : headers_of(entry.path())) {
        const std::size_t to = index(fs::path(header).parent_path());
        if (to < folders.size() && to != index(folder)) add_edge(index(folder), to, graph);
      }
    }
  }
  REQUIRE(num_edges(graph) > 0);
  std::vector<std::size_t> order;
  CHECK_NOTHROW(boost::topological_sort(graph, std::back_inserter(order)));
}

TEST_CASE("The packing core includes the standard library alone") {
  for (const Include& include : includes_of_core()) {
    CAPTURE(include.file, include.to);
    CHECK((include.to == "packing" || include.to.find_first_of("./") == std::string::npos));
  }
}

// packsim._core is built without the simulator.
TEST_CASE("The bindings of the packing core include nothing of the simulator") {
  const std::set<std::string> allowed = {"files", "packing", "plan_files", "python"};
  for (const Include& include : includes_of("python/bindings")) {
    if (include.file.find("/bindings/simulator/") != std::string::npos) continue;
    CAPTURE(include.file, include.header);
    CHECK((!kAllowed.contains(include.to) || allowed.contains(include.to)));
    CHECK(!include.header.starts_with("python/bindings/simulator/"));
  }
}

TEST_CASE("The C interface includes the packing core and the standard library alone") {
  for (const Include& include : includes_of("packing/c_api")) {
    CAPTURE(include.file, include.to);
    const bool is_standard_c = include.to == "stddef.h" || include.to == "stdint.h";
    const bool is_ours = include.to == "packing";
    CHECK((is_ours || is_standard_c || include.to.find_first_of("./") == std::string::npos));
    if (include.file.ends_with(".h")) CHECK(is_standard_c);
  }
}

TEST_CASE("Nothing of ours includes the C interface but itself") {
  for (const auto& [folder, allowed] : kAllowed) {
    for (const Include& include : includes_of(folder)) {
      CAPTURE(include.file, include.header);
      CHECK((!include.header.starts_with("packing/c_api/") ||
             include.file.find("/packing/c_api/") != std::string::npos));
    }
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
  for (const Include& include : includes_of_core()) {
    CAPTURE(include.file);
    for (const char* header :
         {"iostream", "fstream", "cstdio", "filesystem", "chrono", "ctime", "thread", "mutex"}) {
      CHECK(include.to != header);
    }
  }
}
