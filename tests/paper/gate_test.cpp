// Every published number against validation/gate.json, which holds how near it was.

#include <catch2/catch.hpp>

#include "scenarios/loader/read_file.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"
#include "validation/gate.hpp"
#include "validation/validation_sets.hpp"

using namespace packsim;

TEST_CASE("No published number has become worse than validation/gate.json says", "[slow]") {
  const std::vector<std::string> all;
  const std::vector<ValidationSet> sets = validate(all, packsim_test::kData);
  const GateFindings findings =
      check_gate(read_file(packsim_test::source_dir() + "/validation/gate.json"), sets);
  for (const std::string& gain : findings.gains) WARN("nearer, tighten the gate: " << gain);
  for (const std::string& failure : findings.failures) FAIL_CHECK(failure);
  CHECK(sets.size() == validation_set_names().size());
}
