#include "packing/algorithms/two_limits/supply.hpp"

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

#include "packing/algorithms/sort_by_length.hpp"

namespace packsim {
namespace {

// More would make each choice slower for a gain that cannot be told from noise.
constexpr std::size_t kMostClasses = 32;
// Shorter cells in which to look for an extra size that fits, in a class of which only a part does.
constexpr int kMostCellsTried = 8;

// The least extra size of each class, descending: one class for each extra size or, where there are more than
// kMostClasses, classes of about as many items.
std::vector<std::int32_t> class_bounds(const std::vector<PairRun>& runs) {
  std::vector<std::pair<std::int32_t, std::int64_t>> sizes;  // extra size, items
  for (const PairRun& run : runs) sizes.emplace_back(run.extra, run.n_left);
  std::ranges::sort(sizes, std::ranges::greater{});
  std::size_t n = 0;
  std::int64_t n_items = 0;
  for (const auto& [extra, count] : sizes) {
    n_items += count;
    if (n > 0 && sizes[n - 1].first == extra) {
      sizes[n - 1].second += count;
    } else {
      sizes[n++] = {extra, count};
    }
  }
  sizes.resize(n);
  std::vector<std::int32_t> bounds;
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < n; ++i) {
    seen += sizes[i].second;
    const bool is_full = static_cast<std::size_t>(seen) * kMostClasses >=
                         (bounds.size() + 1) * static_cast<std::size_t>(n_items);
    if (n <= kMostClasses || is_full || i + 1 == n) bounds.push_back(sizes[i].first);
  }
  return bounds;
}

}  // namespace

TwoLimitSupply::TwoLimitSupply(const PackProblem& problem) {
  sort_into_runs(problem);
  make_classes();
}

void TwoLimitSupply::sort_into_runs(const PackProblem& problem) {
  LengthOrder order = longest_first(problem);
  std::vector<std::pair<std::int32_t, ItemIndex>> of_length;  // (-extra, item)
  for (const LengthRun& run : order.runs) {
    const auto first = order.items.begin() + run.first;
    if (run.length_tokens > problem.capacity_tokens) {
      over_long_.insert(over_long_.end(), first, first + run.count);
      continue;
    }
    of_length.clear();
    for (std::uint32_t i = 0; i < run.count; ++i)
      of_length.emplace_back(-problem.extra_sizes[first[i]], first[i]);
    std::ranges::sort(of_length);
    for (const auto& [negative_extra, item] : of_length) {
      const bool is_new = runs_.empty() || runs_.back().length_tokens != run.length_tokens ||
                          runs_.back().extra != -negative_extra;
      if (is_new)
        runs_.push_back({run.length_tokens, -negative_extra, static_cast<std::uint32_t>(items_.size()), 0});
      ++runs_.back().n_left;
      items_.push_back(item);
      tokens_left_ += run.length_tokens;
      extra_left_ -= negative_extra;
    }
  }
  n_left_ = static_cast<std::int64_t>(items_.size());
  std::ranges::sort(over_long_);
}

void TwoLimitSupply::make_classes() {
  const std::vector<std::int32_t> bounds = class_bounds(runs_);
  const auto class_of = [&](const PairRun& run) {
    return std::ranges::lower_bound(bounds, run.extra, std::ranges::greater{}) - bounds.begin();
  };
  std::ranges::sort(runs_, {}, [&](const PairRun& run) {
    return std::tuple(class_of(run), run.length_tokens, -run.extra);
  });
  classes_.resize(bounds.size());
  places_.reserve(runs_.size());
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const auto c = static_cast<std::size_t>(class_of(runs_[r]));
    Class& of = classes_[c];
    of.least_extra = bounds[c];
    of.most_extra = std::max(of.most_extra, runs_[r].extra);
    if (of.lengths_tokens.empty() || of.lengths_tokens.back() != runs_[r].length_tokens) {
      of.lengths_tokens.push_back(runs_[r].length_tokens);
      of.first_run.push_back(static_cast<std::uint32_t>(r));
    }
    places_.push_back(
        {static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(of.lengths_tokens.size() - 1)});
  }
  std::uint32_t end = static_cast<std::uint32_t>(runs_.size());
  for (Class& of : classes_ | std::views::reverse) {
    of.first_run.push_back(end);
    end = of.first_run.front();
    of.top_cell = std::ssize(of.lengths_tokens) - 1;
    of.alive = IntegerSet(of.top_cell);
    for (std::int64_t cell = 0; cell < std::ssize(of.lengths_tokens); ++cell) of.alive.insert(cell);
  }
}

std::int64_t TwoLimitSupply::longest_cell(const Class& of, std::int64_t tokens) {
  if (of.top_cell == IntegerSet::kNone) return IntegerSet::kNone;
  if (of.lengths_tokens[static_cast<std::size_t>(of.top_cell)] <= tokens) return of.top_cell;
  const auto above = std::ranges::upper_bound(of.lengths_tokens, tokens);
  return of.alive.largest_at_most(above - of.lengths_tokens.begin() - 1);
}

std::uint32_t TwoLimitSupply::run_in(const Class& of, std::int64_t cell, std::int64_t extra) const {
  for (int tries = 0; tries < kMostCellsTried && cell != IntegerSet::kNone; ++tries) {
    const auto at = static_cast<std::size_t>(cell);
    for (std::uint32_t run = of.first_run[at]; run < of.first_run[at + 1]; ++run) {
      if (runs_[run].n_left > 0 && runs_[run].extra <= extra) return run;
    }
    cell = of.alive.largest_at_most(cell - 1);
  }
  return kNone;
}

void TwoLimitSupply::take(std::uint32_t run, std::uint32_t count, std::vector<ItemIndex>& to) {
  PairRun& from = runs_[run];
  const auto first = items_.begin() + from.next;
  to.insert(to.end(), first, first + count);
  from.next += count;
  from.n_left -= count;
  n_left_ -= count;
  tokens_left_ -= std::int64_t{count} * from.length_tokens;
  extra_left_ -= std::int64_t{count} * from.extra;
  if (from.n_left > 0) return;
  const Place place = places_[run];
  Class& of = classes_[place.of_class];
  for (std::uint32_t r = of.first_run[place.cell]; r < of.first_run[place.cell + 1]; ++r) {
    if (runs_[r].n_left > 0) return;
  }
  of.alive.erase(place.cell);
  if (of.top_cell == place.cell) of.top_cell = of.alive.largest_at_most(of.top_cell);
}

}  // namespace packsim
