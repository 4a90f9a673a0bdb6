#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "models/kernels/kernel_case.hpp"

namespace packsim::microbench {

/// Says on a stream what is being measured and how long the rest will take: a line a case.
class Progress {
 public:
  /// stream: may be null, then it says nothing. budget_s: 0 for none.
  Progress(std::ostream* stream, std::size_t n_cases, double budget_s);
  void pass_by() { ++n_started_; }
  void start(const std::string& kernel, double elapsed_s);
  void finish(const std::string& result);

 private:
  std::ostream* stream_;
  std::size_t n_cases_;
  double budget_s_;
  std::size_t n_started_ = 0;
  std::size_t n_run_ = 0;
};

/// "1.23 ms, 655 TFLOP/s, noise 0.2 %".
std::string format_result(const KernelCase& kernel, double median_s, double noise_fraction,
                          const std::vector<std::string>& flags);

}  // namespace packsim::microbench
