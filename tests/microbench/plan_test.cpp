#include "calibration/microbench/core/plan.hpp"

#include <catch2/catch.hpp>

#include "calibration/microbench/core/command_line.hpp"
#include "tests/microbench/fakes.hpp"

namespace packsim::microbench {

TEST_CASE("plans are read with comments and blank lines, each case once") {
  const Folder folder;
  write_text(folder.file("a"), "# a plan\n\n  adamw parameters=2  # two\r\nlaunch_gap\n");
  write_text(folder.file("b"), "launch_gap\nadamw parameters=3");
  const std::vector<KernelCase> cases = read_plans({folder.file("a"), folder.file("b")});
  REQUIRE(cases.size() == 3);
  CHECK(cases[0].text() == "adamw parameters=2");
  CHECK(cases[1].text() == "launch_gap");
  CHECK(cases[2].text() == "adamw parameters=3");
}

TEST_CASE("every mistake of all plans is told at once, with its place") {
  const Folder folder;
  write_text(folder.file("a"), "launch_gap\nadamw parameters=0\n");
  write_text(folder.file("b"), "gem m=1\n");
  const std::string a = folder.file("a") + ":2: kernel adamw: parameters: expected an integer of at least 1";
  CHECK_THROWS_WITH(read_plans({folder.file("a"), folder.file("b")}),
                    Catch::Contains(a) && Catch::Contains(folder.file("b") + ":1: expected a kernel"));
  CHECK_THROWS_AS(read_plans({folder.file("a")}), UserError);
  CHECK_THROWS_WITH(read_plans({folder.file("none")}),
                    folder.file("none") + ": cannot be read: No such file or directory");
}

}  // namespace packsim::microbench
