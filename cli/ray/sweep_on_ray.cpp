#include "cli/ray/sweep_on_ray.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "cli/shared/child_process.hpp"
#include "cli/shared/pythons.hpp"
#include "files/shell_quoted.hpp"

namespace packsim {
namespace {

// No module comes from the folder that Python is started in.
constexpr const char* kPath = "import sys\nsys.path[:] = [folder for folder in sys.path if folder]\n";

// Writes what is missing, with commas between. Nothing is imported but packsim: importing Ray takes seconds.
constexpr const char* kProbe = R"(
from importlib.util import find_spec
def lacks(module):
    try:
        return find_spec(module) is None
    except ImportError:
        return True
needed = {'packsim': 'packsim', 'packsim._simulator': 'simulator in packsim', 'ray': 'ray'}
print(', '.join('no ' + what for module, what in needed.items() if lacks(module)), end='')
)";

constexpr const char* kCommand = "from packsim.ray.command import main\nsys.exit(main())\n";

[[noreturn]] void refuse_pythons(const std::vector<std::string>& pythons,
                                 const std::vector<std::string>& lacks) {
  if (pythons.empty())
    throw std::runtime_error("--ray: expected a Python with packsim and ray, got no python3");
  std::vector<std::string> texts;
  for (std::size_t p = 0; p < pythons.size(); ++p) texts.push_back(pythons[p] + " " + lacks[p]);
  throw std::runtime_error(
      fmt::format("--ray: expected a Python with packsim, its simulator and ray, and {}. Install them in the "
                  "source folder of packsim with\n  PACKSIM_PROGRAM=1 {} -m pip install '.[ray]'{}",
                  fmt::join(texts, ", "), shell_quoted(pythons.front()),
                  is_python_set() ? "" : "\nor set PACKSIM_PYTHON to another Python"));
}

}  // namespace

std::string python_with_ray() {
  const std::vector<std::string> pythons = python_interpreters("");
  std::vector<std::string> lacks;
  for (const std::string& python : pythons) {
    const ChildOutput child = run_with_input(python, {"-c", std::string(kPath) + kProbe}, "");
    if (child.exit_code > 128) throw ExitCode{child.exit_code};
    if (child.exit_code == 0 && child.out.empty()) return python;
    lacks.push_back(child.exit_code == 0 ? "has " + child.out
                                         : fmt::format("failed with {}", child.exit_code));
  }
  refuse_pythons(pythons, lacks);
}

void sweep_on_ray(const std::string& python, const RaySweep& sweep) {
  std::vector<std::string> words = {python, "-c", std::string(kPath) + kCommand};
  words.push_back("--address=" + sweep.address);
  words.push_back("--out=" + sweep.out);
  for (const std::string& varied : sweep.varied) words.push_back("--vary=" + varied);
  for (const std::string& setting : sweep.settings) words.push_back("--set=" + setting);
  if (sweep.quiet) words.emplace_back("--quiet");
  words.emplace_back("--");
  words.push_back(sweep.grid);
  std::string command_line = "exec";  // so that signals that are passed on reach Python
  for (const std::string& word : words) command_line += " " + shell_quoted(word);
  if (const int code = run_and_wait(command_line); code != 0) throw ExitCode{code};
}

}  // namespace packsim
