#include "experiment/results/length_summary.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <vector>

namespace packsim {
namespace {

// Bin 0 holds zero, bin 1 holds one, bin k holds (2^(k-2), 2^(k-1)].
std::size_t bin_index(std::int32_t length_tokens) {
  if (length_tokens <= 0) return 0;
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint32_t>(length_tokens) - 1)) + 1;
}

std::int64_t bin_end_tokens(std::size_t bin) {
  return bin == 0 ? 0 : std::int64_t{1} << (bin - 1);
}

std::vector<LengthSummary::Bin> histogram(std::span<const std::int32_t> lengths_tokens) {
  std::array<LengthSummary::Bin, 33> bins = {};
  for (const std::int32_t length : lengths_tokens) {
    LengthSummary::Bin& bin = bins[bin_index(length)];
    ++bin.n_samples;
    bin.n_tokens += length;
  }
  std::vector<LengthSummary::Bin> filled;
  const auto [shortest, longest] = std::ranges::minmax(lengths_tokens);
  for (std::size_t b = bin_index(shortest); b <= bin_index(longest); ++b) {
    bins[b].from_tokens = b == 0 ? -1 : bin_end_tokens(b - 1);
    bins[b].to_tokens = bin_end_tokens(b);
    filled.push_back(bins[b]);
  }
  return filled;
}

// The smallest length that at least `percent` % of the samples do not exceed. Reorders `lengths`.
std::int64_t percentile(std::vector<std::int32_t>& lengths_tokens, std::size_t percent) {
  const std::size_t rank = std::max<std::size_t>((lengths_tokens.size() * percent + 99) / 100, 1);
  const auto nth = lengths_tokens.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(lengths_tokens.begin(), nth, lengths_tokens.end());
  return *nth;
}

}  // namespace

LengthSummary summarize_lengths(std::span<const std::int32_t> lengths_tokens) {
  LengthSummary summary;
  if (lengths_tokens.empty()) return summary;
  summary.histogram = histogram(lengths_tokens);
  for (const LengthSummary::Bin& bin : summary.histogram) {
    summary.n_samples += bin.n_samples;
    summary.n_tokens += bin.n_tokens;
  }
  summary.mean_tokens = static_cast<double>(summary.n_tokens) / static_cast<double>(summary.n_samples);
  summary.longest_tokens = *std::ranges::max_element(lengths_tokens);
  std::vector<std::int32_t> reordered(lengths_tokens.begin(), lengths_tokens.end());
  summary.median_tokens = percentile(reordered, 50);
  summary.p99_tokens = percentile(reordered, 99);
  return summary;
}

}  // namespace packsim
