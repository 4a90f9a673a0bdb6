#include "packing/flexsp/buckets.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace packsim::flexsp {
namespace {

// One row of the dynamic programme after another: row q has the least error of the first i sequences in q
// buckets, and where the last of these starts.
class BucketRows {
 public:
  explicit BucketRows(std::span<const std::int32_t> ascending_tokens)
      : lengths_(ascending_tokens), sums_(lengths_.size() + 1, 0) {
    for (std::size_t i = 0; i < lengths_.size(); ++i) sums_[i + 1] = sums_[i] + lengths_[i];
    error_.assign(sums_.size(), kNone);
    error_[0] = 0;
  }

  std::int64_t total_tokens() const { return sums_.back(); }
  std::int64_t error_tokens() const { return error_.back(); }
  std::size_t n_rows() const { return starts_.size(); }

  void add_row() {
    starts_.emplace_back(sums_.size(), 0);
    next_.assign(sums_.size(), kNone);
    const std::size_t least = n_rows();  // sequences, as no bucket is empty
    if (least <= lengths_.size()) fill(least, lengths_.size(), least - 1, lengths_.size() - 1);
    error_.swap(next_);
  }

  std::vector<std::size_t> ends() const {
    std::vector<std::size_t> ends(n_rows());
    std::size_t end = lengths_.size();
    for (std::size_t row = n_rows(); row-- > 0;) {
      ends[row] = end;
      end = starts_[row][end];
    }
    return ends;
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  std::int64_t bucket_error(std::size_t begin, std::size_t end) const {
    return static_cast<std::int64_t>(lengths_[end - 1]) * static_cast<std::int64_t>(end - begin) -
           (sums_[end] - sums_[begin]);
  }

  // Fills [low, high], whose last buckets start in [start_low, start_high].
  void fill(std::size_t low, std::size_t high, std::size_t start_low, std::size_t start_high) {
    const std::size_t middle = low + (high - low) / 2;
    std::size_t best = start_low;
    for (std::size_t start = start_low; start <= std::min(start_high, middle - 1); ++start) {
      if (error_[start] == kNone) continue;
      const std::int64_t error = error_[start] + bucket_error(start, middle);
      if (error < next_[middle]) {
        next_[middle] = error;
        best = start;
      }
    }
    starts_.back()[middle] = best;
    if (low < middle) fill(low, middle - 1, start_low, best);
    if (middle < high) fill(middle + 1, high, best, start_high);
  }

  std::span<const std::int32_t> lengths_;
  std::vector<std::int64_t> sums_;
  std::vector<std::int64_t> error_;
  std::vector<std::int64_t> next_;
  std::vector<std::vector<std::size_t>> starts_;
};

Bucketing result(const BucketRows& rows) {
  return {.ends = rows.ends(), .error_tokens = rows.error_tokens()};
}

}  // namespace

Bucketing bucket_lengths(std::span<const std::int32_t> ascending_tokens, std::size_t n_buckets) {
  if (n_buckets < 1 || n_buckets > ascending_tokens.size()) {
    throw std::invalid_argument("n_buckets: expected 1.." + std::to_string(ascending_tokens.size()) +
                                ", got " + std::to_string(n_buckets));
  }
  BucketRows rows(ascending_tokens);
  while (rows.n_rows() < n_buckets) rows.add_row();
  return result(rows);
}

Bucketing bucket_within(std::span<const std::int32_t> ascending_tokens, std::size_t n_buckets,
                        std::int64_t cluster_capacity_tokens) {
  if (ascending_tokens.empty()) return {};
  BucketRows rows(ascending_tokens);
  const std::int64_t most = (rows.total_tokens() + cluster_capacity_tokens) / 2;
  const std::size_t fewest = std::clamp<std::size_t>(n_buckets, 1, ascending_tokens.size());
  while (rows.n_rows() < fewest ||
         (rows.n_rows() < ascending_tokens.size() && rows.total_tokens() + rows.error_tokens() > most)) {
    rows.add_row();
  }
  return result(rows);
}

}  // namespace packsim::flexsp
