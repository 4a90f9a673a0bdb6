// Every command that writes, killed at moments of its writing: PACKSIM_KILL_MOMENTS of each, 12 by default.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/copy_measurements.hpp"
#include "tests/cli/faults.hpp"

namespace {

namespace fs = std::filesystem;
using packsim_test::Files;
using packsim_test::files_in;
using packsim_test::run_shell;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

// A job that takes milliseconds.
constexpr const char* kTinyScenario = R"({
  "format": 1, "name": "small", "description": "a small job", "seed": 3,
  "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1}, "profile": "deepspeed-ulysses-h100",
  "training": {"tokens_per_iteration": 131072, "epochs": 1, "zero_stage": 3},
  "lengths": {"mix": [{"source": "qmsum.csv", "count": 50}]},
  "packing": {"over_long": "truncate"},
  "strategies": [{"strategy": "isf", "capacity_tokens": 32768, "sp_degree": 4}]
})";

// A page whose table `validate --markdown` writes anew.
const std::string kPage =
    "# Memory\n<!-- packsim validate: begin hbp-memory -->\n<!-- packsim validate: end -->\n";

// What they need stands in the folder above the one in which they write, and the page in both.
const std::vector<std::string> kCommands = {
    "packsim pack ../lengths.csv --strategy bfd --capacity 64 --gpus 1 --plan a.plan --out packs --quiet",
    "packsim run ../small.json --strategy isf --write-plan b.plan --out report --quiet",
    "packsim run ../small.json --plan ../made.plan --out report --quiet",
    "packsim compare ../small.json --out report --quiet",
    "packsim trace ../small.json --strategy isf --out trace.json",
    "packsim tune ../small.json --write-scenario tuned.json --quiet",
    "packsim recommend ../small.json --nodes 1 --max-gpus 8 --out answer --quiet",
    "packsim page ../made.db --out planning.html --quiet",
    "packsim calibrate run --program ../fake --quick --model llama3.1-8b --out m.jsonl",
    "packsim calibrate plan --quick --model llama3.1-8b --out measure.txt",
    "packsim calibrate fit ../m.jsonl --name mine --hardware mine.json",
    "packsim calibrate coverage ../small.json h100-sxm-public --strategy isf --plan missing.txt",
    "packsim validate --set hbp-memory --write-gate gate.json",
    "packsim validate --set hbp-memory --markdown tables.md",
};

int moments() {
  const char* const wanted = std::getenv("PACKSIM_KILL_MOMENTS");
  return wanted == nullptr ? 12 : std::atoi(wanted);
}

// Temporary files of the writer, which a killed run may leave.
bool is_temporary(const std::string& path) {
  return path.ends_with(".partial");
}

std::size_t total_bytes(const std::string& folder) {
  std::size_t n = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    n += entry.is_regular_file() ? entry.file_size() : 0;
  return n;
}

}  // namespace

TEST_CASE("killed while it writes, every command leaves files whole or absent", "[slow]") {
  const TemporaryFolder folder;
  std::string lengths = "tokens\n";
  for (int i = 0; i < 400; ++i) lengths += std::to_string(1 + i * 37 % 64) + "\n";
  write_text(folder / "lengths.csv", lengths);
  write_text(folder / "small.json", kTinyScenario);
  write_text(folder / "m.jsonl", packsim_test::copy_measurements());
  write_text(folder / "tables.md", kPage);
  write_text(folder / "fake", "#!/bin/sh\n");
  fs::permissions(folder / "fake", fs::perms::owner_all);
  REQUIRE(run_shell(folder,
                    "packsim run small.json --strategy isf --write-plan made.plan --out first --quiet && "
                    "packsim sweep small.json --vary cluster.nodes=1,2 --out made.db --quiet")
              .exit_code == 0);
  const std::string work = folder / "work";
  const std::string mark = folder / "hit";
  const int n_moments = moments();
  for (const std::string& command : kCommands) {
    CAPTURE(command);
    const auto run = [&](const std::string& variables) {
      return run_shell(folder,
                       "mkdir -p work && cd work && cp -n ../tables.md . && exec env " + variables + command);
    };
    fs::remove_all(work);
    const packsim_test::ProgramRun whole = run("");
    CAPTURE(whole.err);
    REQUIRE(whole.exit_code == 0);
    const Files expected = files_in(work);
    REQUIRE(expected != Files{{"tables.md", kPage}});
    const std::size_t most_bytes =
        std::max<std::size_t>(1, total_bytes(work) / static_cast<std::size_t>(n_moments + 10));
    fs::remove_all(work);
    int n_killed = 0;
    for (const char* call : {"open", "fsync", "rename", "write"}) {
      for (int n = 1; n_killed < n_moments; ++n) {
        fs::remove(mark);
        run(packsim_test::with_fault({call, n, "kill", most_bytes}, mark));
        if (!fs::exists(mark)) break;
        ++n_killed;
        // Whole or absent; and never more leftovers than the one that this run was writing.
        int n_left = 0;
        for (const auto& [path, text] : files_in(work)) {
          n_left += is_temporary(path) ? 1 : 0;
          if (is_temporary(path)) continue;
          CHECK((text == expected.at(path) || (path == "tables.md" && text == kPage)));
        }
        CHECK(n_left <= static_cast<int>(expected.size()));
      }
    }
    CHECK(n_killed == n_moments);
    REQUIRE(run("").exit_code == 0);
    CHECK(files_in(work) == expected);
  }
}
