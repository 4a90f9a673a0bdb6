#pragma once

#include <span>

namespace packsim::microbench {

/// When a case is warm, and when it has samples enough. A GPU starts a case at its highest clock and falls to
/// what its power allows within 0.1 to 0.2 s. A training step runs at the clock after that, and so it is
/// time, not the number of calls, that ends the warm-up and the samples.
struct StoppingRule {
  double noise_fraction = 0.005;  ///< relative standard error of the median that is good enough
  int min_samples = 10;
  int max_samples = 1000;  ///< more where shortest_s has not passed
  double longest_s = 2;
  double shortest_s = 0.15;  ///< of the samples, however quiet they are
  double warmup_s = 0.2;     ///< of the GPU's work, before samples count
  double longest_warmup_s = 1;
  double long_call_s = 0.02;  ///< calls as long as this need min_long_samples alone
  int min_long_samples = 5;
};

double median(std::span<const double> values);

/// Relative standard error of the median, by estimates for which a few outliers do not count: the larger of
/// 1.2533 x 1.4826 MAD / sqrt(n) / median and half the distance between the samples sqrt(n) / 2 ranks below
/// and above the median; or half the drift from the first third of the samples to the last, less that error,
/// where it is larger, as no number of samples makes the median of a clock that still falls exact. samples_s:
/// in the order in which they were taken. Infinite for fewer than 3.
double median_noise(std::span<const double> samples_s);

enum class Verdict { go_on, quiet, noisy };
/// quiet: the shortest time has passed, with at least the least samples, and the noise is good enough. noisy:
/// the time or the samples are used up before that. The least samples may take four times the longest time;
/// then three are enough.
Verdict judge(const StoppingRule& rule, std::span<const double> samples_s, double elapsed_s);

/// Warmed up: the median of the last quarter of the calls, at least three, is within 1 % of that of as many
/// before them, so that the clocks and caches have settled.
bool is_warm(std::span<const double> warmup_s);

}  // namespace packsim::microbench
