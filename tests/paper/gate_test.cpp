// Every published number against validation/gate.json, which holds how near it was, and against the pages
// that show it.

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "files/read_file.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"
#include "validation/gate.hpp"
#include "validation/validation_sets.hpp"
#include "validation/validation_text.hpp"

using namespace packsim;

namespace {

// The pages of docs/ show every set, and each as it is computed now.
void check_pages(const std::vector<ValidationSet>& sets) {
  std::set<std::string> unseen = {"summary"};
  for (const ValidationSet& set : sets) unseen.insert(set.name);
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(packsim_test::source_dir() + "/docs")) {
    if (entry.path().extension() != ".md") continue;
    const std::string page = read_file(entry.path().string());
    std::erase_if(unseen, [&](const std::string& name) {
      return page.find(kTablesBegin + name + " -->") != std::string::npos;
    });
    INFO(entry.path() << ": refresh it by packsim validate --markdown docs");
    CHECK(with_tables(page, sets) == page);
  }
  CHECK(unseen == std::set<std::string>());
}

}  // namespace

TEST_CASE("No published number has become worse than validation/gate.json says, and the pages show all",
          "[slow]") {
  const std::vector<std::string> all;
  const std::vector<ValidationSet> sets = validate(all, packsim_test::kData);
  const GateFindings findings =
      check_gate(read_file(packsim_test::source_dir() + "/validation/gate.json"), sets);
  for (const std::string& gain : findings.gains)
    WARN("the error is smaller than in the gate; update the gate: " << gain);
  for (const std::string& failure : findings.failures) FAIL_CHECK(failure);
  CHECK(sets.size() == validation_set_names().size());
  check_pages(sets);
}
