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
    hull_.clear();
    front_ = 0;
    // No bucket is empty, so that q buckets have at least q sequences.
    for (std::size_t end = n_rows(); end <= lengths_.size(); ++end) {
      add_start(end - 1);
      const std::int32_t longest = lengths_[end - 1];
      while (front_ + 1 < hull_.size() &&
             error_of(hull_[front_ + 1], longest) < error_of(hull_[front_], longest))
        ++front_;
      next_[end] = error_of(hull_[front_], longest) + longest * static_cast<std::int64_t>(end) - sums_[end];
      starts_.back()[end] = hull_[front_];
    }
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

  // Sequences beyond `start`, all of them as long as `longest`, have this error, less what is the same for
  // all starts: a straight line over `longest`, which falls the faster the later the start.
  std::int64_t at_zero(std::size_t start) const { return error_[start] + sums_[start]; }
  std::int64_t error_of(std::size_t start, std::int32_t longest) const {
    return at_zero(start) - static_cast<std::int64_t>(start) * longest;
  }

  // Whether `middle` is nowhere better than both `before` and `after`, where the first of equals is the best.
  bool is_covered(std::size_t before, std::size_t middle, std::size_t after) const {
    __extension__ using Wide = __int128;
    return Wide{at_zero(middle) - at_zero(before)} * static_cast<std::int64_t>(after - middle) >=
           Wide{at_zero(after) - at_zero(middle)} * static_cast<std::int64_t>(middle - before);
  }

  void add_start(std::size_t start) {
    if (error_[start] == kNone) return;
    while (hull_.size() >= front_ + 2 && is_covered(hull_[hull_.size() - 2], hull_.back(), start))
      hull_.pop_back();
    hull_.push_back(start);
  }

  std::span<const std::int32_t> lengths_;
  std::vector<std::int64_t> sums_;
  std::vector<std::int64_t> error_;
  std::vector<std::int64_t> next_;
  std::vector<std::vector<std::size_t>> starts_;
  // Ascending starts that are the best for some longest length, of which those before front_ are too early
  // for all lengths to come.
  std::vector<std::size_t> hull_;
  std::size_t front_ = 0;
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
