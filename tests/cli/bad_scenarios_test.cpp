#include <catch2/catch.hpp>

#include "program.hpp"
#include "tests/paths.hpp"

using namespace packsim_test;

TEST_CASE("Every bad scenario exits with 2 and the exact message on stderr") {
  const TemporaryFolder folder;
  const std::filesystem::path bad = packsim_test::source_dir() + "/tests/bad_scenarios";
  int n_scenarios = 0;
  for (const auto& entry : std::filesystem::directory_iterator(bad)) {
    if (entry.path().extension() != ".json") continue;
    ++n_scenarios;
    const std::string name = entry.path().filename();
    CAPTURE(name);
    std::string expected = read_text((bad / entry.path().stem()).string() + ".expected");
    for (std::size_t at = 0; (at = expected.find("{data}", at)) != std::string::npos;) {
      expected.replace(at, 6, packsim_test::source_dir());
    }
    const ProgramRun run = run_shell(folder, "cd '" + bad.string() + "' && packsim check " + name);
    CHECK(run.exit_code == 2);
    CHECK(run.err == expected);
    CHECK(run.out.empty());
  }
  CHECK(n_scenarios >= 40);
}
