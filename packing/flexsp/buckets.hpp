#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace packsim::flexsp {

/// Sequences of about one length. Each of them counts as long as the longest.
struct Bucketing {
  std::vector<std::size_t> ends;  ///< [n_buckets]: bucket q is sorted[ends[q - 1], ends[q])
  std::int64_t error_tokens = 0;  ///< that the bucketed sequences have too many, in all
};

/// Cuts ascending lengths into n_buckets (1..n_sequences) so that the error is least. Among equals the last
/// bucket is as large as can be, then the one before it, as in the published code.
///
/// FlexSP (arXiv 2412.01523) section 4.1.3 does this in O(K^2 Q). Over the length of a bucket's last sequence
/// the errors of all its starts are straight lines, so their lower envelope finds the same buckets in O(K Q).
Bucketing bucket_lengths(std::span<const std::int32_t> ascending_tokens, std::size_t n_buckets);

/// bucket_lengths() with the fewest buckets, from n_buckets on, whose tokens are at most the mean of the true
/// ones and of what the cluster holds, as published. One bucket a sequence where nothing less will do.
Bucketing bucket_within(std::span<const std::int32_t> ascending_tokens, std::size_t n_buckets,
                        std::int64_t cluster_capacity_tokens);

}  // namespace packsim::flexsp
