// The rows of docs/scenarios.md for keys of a plan are those of the table of keys.

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iostream>
#include <sstream>

#include "models/plan/plan_key.hpp"
#include "scenarios/search_space/search_dimensions.hpp"
#include "tests/paths.hpp"

using namespace packsim;

namespace {

std::string default_cell(const PlanKey& key) {
  if (!key.default_text.empty()) return std::string(key.default_text);
  const std::string text = plan_value_text(default_value(key));
  return key.option.type == OptionType::word ? "`" + text + "`" : text;
}

std::string rows_of(std::initializer_list<PlanPart> parts) {
  std::string rows;
  for (const PlanKey& key : plan_keys()) {
    if (std::ranges::find(parts, key.part) == parts.end()) continue;
    rows += "| `" + std::string(key.name()) + "` | " + std::string(key.option.text) + " | " +
            default_cell(key) + " |\n";
  }
  return rows;
}

}  // namespace

TEST_CASE("docs/scenarios.md has a row for each key of a plan") {
  std::ifstream file(packsim_test::source_dir() + "/docs/scenarios.md");
  std::ostringstream page;
  page << file.rdbuf();
  for (const std::string& rows :
       {rows_of({PlanPart::training, PlanPart::parallelism}), rows_of({PlanPart::group})}) {
    const bool has_rows = page.str().find(rows) != std::string::npos;
    CHECK(has_rows);
    if (!has_rows) std::cout << "docs/scenarios.md should have:\n" << rows;
  }
}

TEST_CASE("A text of a searched plan says every key that a search may set") {
  for (const SearchDimension* dimension : kSearchDimensions) {
    CAPTURE(dimension->plan_key);
    const PlanKey* key = find_plan_key(dimension->plan_key);
    REQUIRE(key != nullptr);
    CHECK(key->is_searched);
  }
}
