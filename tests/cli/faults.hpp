#pragma once

#include <filesystem>
#include <map>
#include <regex>
#include <string>

#include "tests/cli/program.hpp"
#include "tests/paths.hpp"

namespace packsim_test {

using Files = std::map<std::string, std::string>;  ///< by path below a folder

/// All files below a folder, without the numbers in them that no two runs share, and without packsim's
/// records of what it wrote, which have hashes of these numbers.
inline Files files_in(const std::string& folder) {
  namespace fs = std::filesystem;
  static const std::regex kTimings("\"(packing_s|simulation_s|total_s|peak_memory_bytes)\": ?[0-9.e+-]*");
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().filename() != ".packsim-files")
      files[fs::relative(entry.path(), folder).string()] =
          std::regex_replace(read_text(entry.path()), kTimings, "");
  }
  return files;
}

/// A fault of tests/faults/failing_calls.cpp.
struct Fault {
  std::string call;
  int n = 1;
  std::string what;
  std::size_t most_bytes = 2000;  ///< that one call writes
};

/// Variables to put before a command; the file `mark` says that the call was made.
inline std::string with_fault(const Fault& fault, const std::string& mark) {
  return "LD_PRELOAD='" + failing_calls() + "' PACKSIM_FAULT=" + fault.call + ":" + std::to_string(fault.n) +
         ":" + fault.what + " PACKSIM_FAULT_MARK='" + mark +
         "' PACKSIM_FAULT_MOST_BYTES=" + std::to_string(fault.most_bytes) + " ";
}

}  // namespace packsim_test
