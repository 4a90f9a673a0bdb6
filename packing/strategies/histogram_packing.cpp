// SPFHP and LPFHP (Krell et al., arXiv 2107.02027) work on the histogram of lengths: a shape (the lengths of
// one pack) stands for as many equal packs as it has repeats. Samples are dealt to the shapes at the end.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "packing/algorithms/free_space_index.hpp"
#include "packing/algorithms/sort_by_length.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

// A shape is its longest-first prefix (another shape) and some repeats of one more length.
struct Shape {
  std::int64_t prefix = -1;  // index of the shape it extends, -1 for none
  std::uint32_t run = 0;     // index of the length run
  std::uint32_t copies = 0;  // of that length, in each pack
  std::uint32_t n_samples = 0;
  std::uint32_t repeats = 0;  // packs of this shape that nothing has extended
  std::int64_t below = -1;    // the newest open shape of as much room that is older, -1 for none
};

class HistogramPacker {
 public:
  explicit HistogramPacker(const PackProblem& problem)
      : problem_(problem),
        order_(longest_first(problem)),
        limit_(most_items_of(problem.options[kMaxSamplesPerPack])),
        spaces_(problem.capacity_tokens),
        newest_(std::make_unique_for_overwrite<std::uint32_t[]>(
            static_cast<std::size_t>(problem.capacity_tokens) + 1)) {}

  // Shortest-pack-first: the whole count of a length goes into the packs with most room, one sample a pack;
  // what does not fit anywhere opens as many packs. Equal lengths therefore never share a pack that they
  // opened.
  PackSet shortest_pack_first() {
    for (std::uint32_t run = 0; run < order_.runs.size(); ++run) {
      const std::int64_t length = needed_tokens(run);
      std::uint32_t left = order_.runs[run].count;
      std::int64_t most_room = spaces_.largest_at_most(problem_.capacity_tokens);
      while (left > 0 && most_room >= length && most_room != IntegerSet::kNone) {
        left -= extend(most_room, run, 1, left);
        most_room = spaces_.largest_at_most(most_room);
      }
      if (left > 0) add({-1, run, 1, 1, left}, problem_.capacity_tokens - length);
    }
    return deal();
  }

  // Longest-pack-first: best fit, with as many copies of the length in a pack as fit.
  PackSet longest_pack_first() {
    for (std::uint32_t run = 0; run < order_.runs.size(); ++run) {
      const std::int64_t length = needed_tokens(run);
      std::uint32_t left = order_.runs[run].count;
      while (left > 0) {
        const std::int64_t room = spaces_.smallest_at_least(length);
        if (room != IntegerSet::kNone) {
          const Shape& shape = shapes_[newest_[static_cast<std::size_t>(room)]];
          left -= extend(room, run, copies(room, length, limit_ - shape.n_samples, left), left);
        } else {
          const std::uint32_t n = copies(problem_.capacity_tokens, length, limit_, left);
          add({-1, run, n, n, left / n}, problem_.capacity_tokens - n * length);
          left -= left / n * n;
        }
      }
    }
    return deal();
  }

 private:
  std::int64_t needed_tokens(std::uint32_t run) const {
    return std::min<std::int64_t>(order_.runs[run].length_tokens, problem_.capacity_tokens);
  }

  static std::uint32_t copies(std::int64_t room, std::int64_t length, std::uint32_t limit,
                              std::uint32_t left) {
    const std::uint32_t most = std::min(limit, left);
    return length == 0 ? most : static_cast<std::uint32_t>(std::min<std::int64_t>(room / length, most));
  }

  // Puts `n` copies of the run's length into packs of the newest open shape with `room`, as many packs as
  // there are samples left for. Returns the number of samples placed.
  std::uint32_t extend(std::int64_t room, std::uint32_t run, std::uint32_t n, std::uint32_t left) {
    const std::uint32_t index = newest_[static_cast<std::size_t>(room)];
    const std::uint32_t packs = std::min(shapes_[index].repeats, left / n);
    shapes_[index].repeats -= packs;
    if (shapes_[index].repeats == 0) {
      if (shapes_[index].below < 0)
        spaces_.erase(room);
      else
        newest_[static_cast<std::size_t>(room)] = static_cast<std::uint32_t>(shapes_[index].below);
    }
    add({index, run, n, shapes_[index].n_samples + n, packs}, room - n * needed_tokens(run));
    return packs * n;
  }

  void add(const Shape& shape, std::int64_t room) {
    shapes_.push_back(shape);
    // A full pack has room for items of no tokens, unless it is an over-long item's own.
    const bool own_pack = order_.runs[shape.run].length_tokens > problem_.capacity_tokens;
    if ((room == 0 && (own_pack || !problem_.keep_empty)) || shape.n_samples >= limit_) return;
    std::uint32_t& newest = newest_[static_cast<std::size_t>(room)];
    if (spaces_.contains(room)) shapes_.back().below = newest;
    newest = static_cast<std::uint32_t>(shapes_.size() - 1);
    spaces_.insert(room);
  }

  // Deals the samples of each length, in data set order, to the packs that want that length.
  PackSet deal() const {
    std::vector<std::uint32_t> next(order_.runs.size());
    for (std::size_t run = 0; run < next.size(); ++run) next[run] = order_.runs[run].first;
    PackSet packs;
    packs.items.reserve(order_.items.size());
    std::vector<const Shape*> parts;
    for (const Shape& last : shapes_) {
      if (last.repeats == 0) continue;  // other shapes have extended all of its packs
      parts.clear();
      for (const Shape* part = &last;; part = &shapes_[static_cast<std::size_t>(part->prefix)]) {
        parts.push_back(part);
        if (part->prefix < 0) break;
      }
      for (std::uint32_t repeat = 0; repeat < last.repeats; ++repeat) {
        for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
          for (std::uint32_t copy = 0; copy < (*part)->copies; ++copy) {
            packs.items.push_back(order_.items[next[(*part)->run]++]);
          }
        }
        packs.close_pack();
      }
    }
    return packs;
  }

  const PackProblem& problem_;
  LengthOrder order_;
  std::uint32_t limit_;  // samples in a pack
  IntegerSet spaces_;    // free space of the open shapes
  // [capacity + 1]: the newest open shape with so much free space. Not cleared, which would take O(capacity)
  // in every window of samples; spaces_ says where there is one.
  std::unique_ptr<std::uint32_t[]> newest_;
  std::vector<Shape> shapes_;
};

PackSet pack_spfhp(const PackProblem& problem) {
  return HistogramPacker(problem).shortest_pack_first();
}
PackSet pack_lpfhp(const PackProblem& problem) {
  return HistogramPacker(problem).longest_pack_first();
}

}  // namespace

extern constinit const Strategy spfhp = {
    .name = "spfhp",
    .summary = "Longest first by histogram, into the packs with the most room (worst fit).",
    .complexity = "O(N + S^2)",
    .source = "Krell arXiv 2107.02027",
    .pack = pack_spfhp,
    .options = kLimitOptions,
};

extern constinit const Strategy lpfhp = {
    .name = "lpfhp",
    .summary = "Longest first by histogram, into the packs with the least room, equal lengths together.",
    .complexity = "O(N + S^2)",
    .source = "Krell arXiv 2107.02027",
    .pack = pack_lpfhp,
    .options = kLimitOptions,
};

}  // namespace packsim::strategies_detail
