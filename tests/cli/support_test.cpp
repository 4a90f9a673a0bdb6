#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "models/not_modelled.hpp"
#include "models/plan_traits.hpp"
#include "program.hpp"
#include "tests/paths.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

std::string support_listing() {
  const TemporaryFolder folder;
  const ProgramRun run = run_shell(folder, "packsim list support");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  return run.out;
}

// The first line that starts with `name`, with one space between its words.
std::string line_of(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(name + " ", 0) != 0) continue;
    std::istringstream words(line);
    std::string joined;
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
    return joined;
  }
  return "";
}

}  // namespace

TEST_CASE("list support says what was measured on a GPU, what is scaled and what has a price by a rule") {
  const std::string listing = support_listing();
  // Products, attention forward and backward, elementwise, copies, collectives in a node and between, AdamW.
  // The shipped profiles of the H100 have all but three of the five collectives between nodes.
  CHECK(line_of(listing, "h100-sxm-80gb") ==
        "h100-sxm-80gb measured measured measured measured measured measured 2 of 5 measured");
  CHECK(line_of(listing, "a100-sxm-80gb") ==
        "a100-sxm-80gb scaled scaled scaled scaled scaled scaled scaled scaled");
  // Its profiles have attention, the two passes of rms_norm, and all-gather and all-reduce between nodes.
  CHECK(line_of(listing, "h200-sxm-141gb") ==
        "h200-sxm-141gb measured measured measured measured measured scaled 2 of 5 measured");
  CHECK(listing.find("scaled: what was measured on NVIDIA H100 80GB HBM3 or NVIDIA H200, or by") !=
        std::string::npos);
}

TEST_CASE("list support has every trait of plans, with its error, and everything that is not modelled") {
  const std::string listing = support_listing();
  for (const PlanTraitKind& kind : kPlanTraits) {
    CAPTURE(kind.text);
    CHECK(listing.find("\n" + std::string(kind.text) + " ") != std::string::npos);
  }
  CHECK(line_of(listing, "experts") == "experts 25 %");
  for (const NotModelled& row : kNotModelled) {
    CAPTURE(row.what);
    CHECK(listing.find("\n" + std::string(row.what) + " ") != std::string::npos);
  }
}

TEST_CASE("list support has every framework profile, with its error and what its steps had") {
  // As the file says: 4.73 % off with models left out.
  CHECK(line_of(support_listing(), "nemo-megatron-h100") ==
        "nemo-megatron-h100 NVIDIA H100 80GB HBM3 8-2048 5 % tensor parallelism, ring");
}

TEST_CASE("list support has every model, with its kind and the profiles that had steps of it") {
  const std::string listing = support_listing();
  CHECK(line_of(listing, "llama3.1-405b") ==
        "llama3.1-405b dense grouped extrapolated extrapolated any-framework-h100, nemo-megatron-h100");
  CHECK(line_of(listing, "deepseek-v2") == "deepseek-v2 experts latent extrapolated extrapolated -");
}

TEST_CASE("Lines of list support have at most 110 columns, and docs/support.md shows them as they are") {
  const std::string listing = support_listing();
  std::istringstream lines(listing);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 110);
  }
  INFO("paste the output of packsim list support into docs/support.md");
  CHECK(read_text(source_dir() + "/docs/support.md").find("```\n" + listing + "```\n") != std::string::npos);
}

TEST_CASE("list refuses an unknown word with the choices, and list support a profile that is none") {
  const TemporaryFolder folder;
  const ProgramRun unknown = run_shell(folder, "packsim list nothing");
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find("hardware-profiles, support") != std::string::npos);
  CHECK(unknown.out.empty());
  const ProgramRun broken =
      run_shell(folder,
                "mkdir data && cp -r \"$PACKSIM_DATA\"/models \"$PACKSIM_DATA\"/calibration data && "
                "echo '[]' > data/calibration/profiles/hardware/broken.json && "
                "PACKSIM_DATA=data packsim list support");
  CHECK(broken.exit_code == 2);
  CHECK(broken.err.find("broken.json") != std::string::npos);
  CHECK(broken.out.empty());
}
