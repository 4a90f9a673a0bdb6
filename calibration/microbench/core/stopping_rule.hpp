#pragma once

#include <span>

namespace packsim::microbench {

/// When a case has samples enough.
struct StoppingRule {
  double noise_fraction = 0.005;  ///< relative standard error of the median that is good enough
  int min_samples = 10;
  int max_samples = 200;
  double longest_s = 2;
};

double median(std::span<const double> values);

/// Relative standard error of the median, by estimates for which a few outliers do not count: the larger of
/// 1.2533 x 1.4826 MAD / sqrt(n) / median and half the distance between the samples sqrt(n) / 2 ranks below
/// and above the median. Infinite for fewer than 3 samples.
double median_noise(std::span<const double> samples_s);

enum class Verdict { go_on, quiet, noisy };
/// quiet: at least the least samples and the noise is good enough. noisy: the time or the samples are used
/// up before that. The least samples may take four times the longest time; then three are enough.
Verdict judge(const StoppingRule& rule, std::span<const double> samples_s, double elapsed_s);

/// Warmed up: the median of the last three calls is within 1 % of that of the three before, so that the
/// clocks and caches have settled.
bool is_warm(std::span<const double> warmup_s);

}  // namespace packsim::microbench
