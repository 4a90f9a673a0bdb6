#pragma once

#include <cstdint>
#include <vector>

#include "packing/algorithms/free_space_index.hpp"
#include "packing/strategy.hpp"

namespace packsim {

/// Items of equal length and extra size, neighbours in TwoLimitSupply::items.
struct PairRun {
  std::int32_t length_tokens = 0;
  std::int32_t extra = 0;
  std::uint32_t next = 0;    ///< position of the next one that is not packed
  std::uint32_t n_left = 0;  ///< how many are not packed
};

/// The items of a problem with two limits that are still to be packed, by extra size and length.
class TwoLimitSupply {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  explicit TwoLimitSupply(const PackProblem& problem);

  /// Runs of similar extra sizes, by length.
  struct Class {
    std::int32_t least_extra = 0;
    std::int32_t most_extra = 0;
    std::int64_t top_cell = 0;  ///< the last cell that has items left; IntegerSet::kNone if there is none
    std::vector<std::int32_t> lengths_tokens;  ///< [n_cells], ascending: the lengths that there are
    std::vector<std::uint32_t> first_run;      ///< [n_cells + 1]: the runs of each length, most extra first
    IntegerSet alive{0};                       ///< the cells that have items left
  };

  /// Classes by descending extra size.
  const std::vector<Class>& classes() const { return classes_; }
  const PairRun& run(std::uint32_t run) const { return runs_[run]; }

  /// The cell of most tokens, at most `tokens`, that has items left; IntegerSet::kNone if there is none.
  static std::int64_t longest_cell(const Class& of, std::int64_t tokens);
  /// The run of most extra, at most `extra`, in the cell or one of the next few shorter ones; or kNone.
  std::uint32_t run_in(const Class& of, std::int64_t cell, std::int64_t extra) const;

  bool empty() const { return n_left_ == 0; }
  std::int64_t n_left() const { return n_left_; }
  std::int64_t tokens_left() const { return tokens_left_; }
  std::int64_t extra_left() const { return extra_left_; }

  /// Takes so many items of a run, at most as many as it has left, and appends them.
  void take(std::uint32_t run, std::uint32_t count, std::vector<ItemIndex>& to);

  /// Items longer than a pack, which get packs of their own, in data set order.
  const std::vector<ItemIndex>& over_long() const { return over_long_; }

 private:
  struct Place {
    std::uint32_t of_class = 0;
    std::uint32_t cell = 0;
  };

  void sort_into_runs(const PackProblem& problem);
  void make_classes();

  std::vector<ItemIndex> items_;
  std::vector<ItemIndex> over_long_;
  std::vector<PairRun> runs_;  // class after class, by ascending length, then descending extra
  std::vector<Place> places_;  // [n_runs]
  std::vector<Class> classes_;
  std::int64_t n_left_ = 0;
  std::int64_t tokens_left_ = 0;
  std::int64_t extra_left_ = 0;
};

}  // namespace packsim
