#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/kernels/kernel_case.hpp"

namespace packsim::microbench {

/// Details of a line: names with values that are JSON already.
using Details = std::vector<std::pair<std::string, std::string>>;

/// The machine and the program, as they are written down.
struct SourceLine {
  std::string gpu;
  std::string provenance;
  std::map<std::string, std::string> details;
};

struct MeasuredLine {
  std::string kernel;
  std::string library;
  std::vector<double> samples_s;
  std::vector<std::string> flags;
  Details details;
};

/// Marks a line whose samples are too few because the budget ended.
constexpr std::string_view kCutFlag = "cut";

std::string format_line(const SourceLine& line);
std::string format_line(const MeasuredLine& line);
/// Written before a case is prepared, so that a crash, a hang or a kill leaves its name.
std::string format_began(const std::string& kernel);
std::string format_skipped(const std::string& kernel, const std::string& reason);
std::string format_end(bool complete);

/// A measurement file that is appended to, a whole line at a time. A run that was killed leaves valid lines
/// and perhaps a torn one at the end, which is cut off when the file is opened again.
class MeasurementFile {
 public:
  /// Creates the file or goes on with it. Throws UserError where it is not a measurement file, has a wrong
  /// line (with path:line), is of another GPU or is in use by another run; std::runtime_error with the path
  /// and the system's words where it cannot be read or written.
  MeasurementFile(std::string path, const std::string& gpu);
  ~MeasurementFile();
  MeasurementFile(const MeasurementFile&) = delete;
  MeasurementFile& operator=(const MeasurementFile&) = delete;

  /// A case that the budget cut short is not measured: the next run has the time for it.
  bool has_measured(const std::string& kernel) const { return measured_.contains(kernel); }
  /// The case that began last, where an earlier run wrote neither its result nor why it was skipped nor that
  /// the run ended: it crashed, hung or was killed. Empty where there is none.
  const std::string& broken_off() const { return broken_off_; }
  /// Why an earlier run skipped the case; empty where none did.
  std::string skip_reason(const std::string& kernel) const;
  std::size_t n_measured() const { return measured_.size(); }
  /// Bytes of a torn line that were cut off.
  std::size_t cut_bytes() const { return cut_bytes_; }

  /// Adds a line (without its '\n') and makes sure that it is on the disk. Where that fails, takes back what
  /// was written of it, and the line before it where that says that a case began, as it was the disk that
  /// failed, and throws std::runtime_error with the path and the system's words.
  void append(const std::string& line);

 private:
  void scan(const std::string& gpu);
  void scan_line(const std::string& line, std::size_t number, const std::string& gpu);
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string path_;
  int file_ = -1;
  std::size_t cut_bytes_ = 0;
  std::set<std::string> measured_;
  std::map<std::string, std::string> skipped_;
  std::string broken_off_;
  off_t began_at_ = -1;  // where the last line that was appended starts, if it says that a case began
};

}  // namespace packsim::microbench
