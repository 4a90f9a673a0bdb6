#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "experiment/compare_strategies.hpp"
#include "experiment/peak_memory.hpp"
#include "experiment/plans/keep_strategies.hpp"
#include "experiment/plans/stopwatch.hpp"
#include "files/shell_quoted.hpp"
#include "files/version.hpp"
#include "python/bindings/simulator/bindings.hpp"
#include "python/bindings/simulator/interruptible.hpp"

namespace packsim::python {
namespace {

using Names = std::vector<std::string>;

// Does what `packsim compare` does, but for what that says meanwhile. command: for the manifest.
Report compare(const Scenario& scenario, const Names& strategies, int n_threads, const std::string& command,
               const py::object& progress) {
  Scenario kept = scenario;
  keep_strategies(kept, strategies);
  Report report;
  run_interruptibly(progress, [&](const Say& say) {
    const Stopwatch watch;
    report = compare_strategies(kept, {.n_threads = n_threads, .progress = say});
    report.manifest.version = build_version();
    report.manifest.command = command;
    report.total_s = watch.seconds();
    report.peak_memory_bytes = peak_memory_bytes();
  });
  return report;
}

py::bytes schedule_file(const Scenario& scenario, const std::string& strategy, const std::string& normaliser,
                        const py::object& progress) {
  std::vector<std::byte> bytes;
  run_interruptibly(progress, [&](const Say& say) {
    bytes = schedule_file_of(scenario, strategy, build_version(), normaliser, {.progress = say});
  });
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Quotes words as the program quotes the command that it was started with.
std::string shell_command(const Names& words) {
  std::string command = "packsim";
  for (const std::string& word : words) command += " " + shell_quoted(word);
  return command;
}

}  // namespace

void add_runs(py::module_& module) {
  module.def("compare", compare);
  module.def("schedule_file", schedule_file);
  module.def("shell_command", shell_command);
}

}  // namespace packsim::python
