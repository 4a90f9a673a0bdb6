#include "calibration/microbench/core/progress.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "calibration/microbench/core/runner.hpp"
#include "files/text/printable.hpp"

namespace packsim::microbench {
namespace {

std::string three_digits(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

std::string format_duration(double duration_s) {
  const auto seconds = static_cast<long long>(std::ceil(duration_s));
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 7200) return std::to_string((seconds + 59) / 60) + " min";
  return std::to_string((seconds + 3599) / 3600) + " h";
}

}  // namespace

Progress::Progress(std::ostream* stream, std::size_t n_cases, double budget_s)
    : stream_(stream), n_cases_(n_cases), budget_s_(budget_s) {}

void Progress::start(const std::string& kernel, double elapsed_s) {
  ++n_started_;
  ++n_run_;
  if (stream_ == nullptr) return;
  *stream_ << "[" << n_started_ << "/" << n_cases_;
  if (n_run_ > 1) {
    const auto n_left = static_cast<double>(n_cases_ - n_started_ + 1);
    double left_s = elapsed_s / static_cast<double>(n_run_ - 1) * n_left;
    if (budget_s_ > 0) left_s = std::min(left_s, std::max(budget_s_ - elapsed_s, 0.0));
    *stream_ << ", " << format_duration(left_s) << " left";
  }
  *stream_ << "] " << printable(kernel) << std::flush;
}

void Progress::finish(const std::string& result) {
  if (stream_ != nullptr) *stream_ << ": " << printable(result) << std::endl;
}

std::string format_time(double time_s) {
  if (time_s < 1e-6) return three_digits(time_s * 1e9) + " ns";
  if (time_s < 1e-3) return three_digits(time_s * 1e6) + " us";
  if (time_s < 1) return three_digits(time_s * 1e3) + " ms";
  return three_digits(time_s) + " s";
}

std::string format_result(const KernelCase& kernel, double median_s, double noise_fraction,
                          const std::vector<std::string>& flags) {
  std::string text = format_time(median_s);
  const double flop = kernel_flop(kernel);
  const double size_bytes = kernel_bytes(kernel);
  if (flop > 0) {
    text += ", " + three_digits(flop / median_s * 1e-12) + " TFLOP/s";
  } else if (size_bytes > 0) {
    text += ", " + three_digits(size_bytes / median_s * 1e-9) + " GB/s";
  }
  text += ", noise " + three_digits(100 * noise_fraction) + " %";
  for (const std::string& flag : flags) text += ", " + flag;
  return text;
}

std::string format_summary(const RunSummary& summary) {
  const auto row = [](std::string name, std::size_t count) {
    name.resize(std::max<std::size_t>(name.size() + 1, 32), ' ');
    return name + std::to_string(count) + "\n";
  };
  std::string text = row("cases", summary.n_cases);
  if (summary.n_in_file > 0) text += row("  already in the file", summary.n_in_file);
  text += row("  measured", summary.n_measured);
  if (summary.n_noisy > 0) text += row("    noisy", summary.n_noisy);
  if (summary.n_throttled > 0) text += row("    throttled", summary.n_throttled);
  for (const auto& [reason, count] : summary.skipped) text += row("  skipped: " + printable(reason), count);
  if (summary.n_left() > 0) text += row("  left", summary.n_left());
  if (summary.n_cut > 0) text += row("    cut short by the budget", summary.n_cut);
  if (summary.ending == Ending::budget_spent) text += "The budget is spent: the same command goes on.\n";
  if (summary.ending == Ending::interrupted) text += "Interrupted: the same command goes on.\n";
  return text;
}

}  // namespace packsim::microbench
