#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/microbench/core/coordination.hpp"
#include "calibration/microbench/core/family.hpp"
#include "calibration/microbench/core/health.hpp"
#include "calibration/microbench/core/measurement_file.hpp"
#include "calibration/microbench/core/stopping_rule.hpp"

namespace packsim::microbench {

/// What is measured: the GPUs, or a fake of them.
class Machine {
 public:
  virtual ~Machine() = default;
  /// Every rank takes part in this case.
  virtual bool is_for_all_ranks(const KernelCase& kernel) const = 0;
  /// Throws Unavailable where the case cannot be measured.
  virtual Prepared prepare(const KernelCase& kernel) = 0;
  /// Nothing where the machine does not say.
  virtual std::optional<Health> health() = 0;
};

/// A run: what it needs beside the cases.
struct Run {
  StoppingRule rule;
  double budget_s = 0;  ///< 0: no end
  std::function<double()> now_s;
  std::function<bool()> stop_asked;
  std::ostream* progress = nullptr;
  /// Limits the wall time of one case; when it is over, the process ends with exit code 3. 0: no limit.
  double case_timeout_s = 0;
  bool retry_failed = false;  ///< measures the cases again at which the GPU failed
  Coordination* coordination = nullptr;
  MeasurementFile* file = nullptr;  ///< of rank 0 alone
};

enum class Ending { complete, budget_spent, interrupted };

struct RunSummary {
  Ending ending = Ending::complete;
  std::size_t n_cases = 0;
  std::size_t n_in_file = 0;  ///< measured by an earlier run
  std::size_t n_measured = 0;
  std::size_t n_cut = 0;  ///< cut short by the budget, which are not measured: those of n_left()
  std::size_t n_noisy = 0;
  std::size_t n_throttled = 0;
  std::map<std::string, std::size_t> skipped;  ///< cases by reason
  std::size_t n_left() const;
};

/// Measures the cases in their order and appends each to the file as soon as it is done, then how the run
/// ended. Ranks other than 0 take part in the cases that are for all. Where the GPU fails, says so in the
/// file (a later run passes that case by) and throws std::runtime_error that names the case. A case in the
/// middle of which an earlier run crashed, hung or was killed counts as one at which the GPU failed.
RunSummary run_cases(const std::vector<KernelCase>& cases, Machine& machine, const Run& run);

/// The table that ends a run.
std::string format_summary(const RunSummary& summary);

/// "850 ns", "12.5 us", "3.2 ms", "1.5 s".
std::string format_time(double time_s);

}  // namespace packsim::microbench
