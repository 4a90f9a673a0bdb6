#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "experiment/compare_strategies.hpp"
#include "experiment/peak_memory.hpp"
#include "experiment/plans/keep_strategies.hpp"
#include "experiment/plans/stopwatch.hpp"
#include "files/shell_quoted.hpp"
#include "python/bindings/simulator/bindings.hpp"
#include "python/bindings/simulator/interruptible.hpp"

namespace packsim::python {
namespace {

using Names = std::vector<std::string>;

// As `packsim compare` does it, but for what that says meanwhile. command: for the manifest.
Report compare(const Scenario& scenario, const Names& strategies, int n_threads, const std::string& command,
               const py::object& progress) {
  Scenario kept = scenario;
  keep_strategies(kept, strategies);
  Report report;
  run_interruptibly(progress, [&](const Say& say) {
    const Stopwatch watch;
    report = compare_strategies(kept, {.n_threads = n_threads, .progress = say});
    report.manifest.version = PACKSIM_VERSION;
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
    bytes = schedule_file_of(scenario, strategy, PACKSIM_VERSION, normaliser, {.progress = say});
  });
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// As the program writes the command that it was started with.
std::string shell_command(const Names& words) {
  std::string command = "packsim";
  for (const std::string& word : words) command += " " + shell_quoted(word);
  return command;
}

}  // namespace

void add_runs(py::module_& module) {
  module.def("compare", compare, py::arg("scenario"), py::arg("strategies"), py::arg("threads"),
             py::arg("command"), py::arg("progress"));
  module.def("schedule_file", schedule_file, py::arg("scenario"), py::arg("strategy"), py::arg("normaliser"),
             py::arg("progress"));
  module.def("shell_command", shell_command, py::arg("words"));
}

}  // namespace packsim::python
