#include "packing/algorithms/first_fit_tree.hpp"

#include <algorithm>

namespace packsim {
namespace {

std::size_t round_up(std::size_t n, std::size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

}  // namespace

FirstFitTree::FirstFitTree(std::size_t n_slots, std::int32_t value)
    : FirstFitTree(std::vector<std::int32_t>(n_slots, value)) {}

FirstFitTree::FirstFitTree(std::vector<std::int32_t> values) : n_slots_(values.size()) {
  values.resize(round_up(std::max<std::size_t>(values.size(), 1), kFanOut), kEmpty);
  levels_.push_back(std::move(values));
  build_upper_levels();
}

void FirstFitTree::build_upper_levels() {
  while (true) {
    const std::vector<std::int32_t>& below = levels_.back();
    const std::size_t n_nodes = below.size() / kFanOut;
    std::vector<std::int32_t> maxima(n_nodes == 1 ? 1 : round_up(n_nodes, kFanOut), kEmpty);
    for (std::size_t node = 0; node < n_nodes; ++node) {
      maxima[node] = *std::max_element(below.data() + node * kFanOut, below.data() + (node + 1) * kFanOut);
    }
    levels_.push_back(std::move(maxima));
    if (n_nodes == 1) return;
  }
}

void FirstFitTree::set(std::size_t slot, std::int32_t value) {
  levels_[0][slot] = value;
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    const std::int32_t* children = levels_[level - 1].data() + slot / kFanOut * kFanOut;
    slot /= kFanOut;
    std::int32_t largest = children[0];
    for (std::size_t k = 1; k < kFanOut; ++k) largest = std::max(largest, children[k]);
    if (levels_[level][slot] == largest) return;
    levels_[level][slot] = largest;
  }
}

std::size_t FirstFitTree::find(std::int32_t wanted, std::size_t from) const {
  // The first child of this line, at or after `first`, that is large enough; kFanOut if none is.
  const auto first_in_line = [wanted](const std::int32_t* line, std::size_t first) {
    std::uint32_t fits = 0;
    for (std::size_t k = 0; k < kFanOut; ++k) fits |= std::uint32_t{line[k] >= wanted} << k;
    fits &= ~std::uint32_t{0} << first;
    return static_cast<std::size_t>(fits == 0 ? kFanOut : __builtin_ctz(fits));
  };
  if (largest() < wanted) return kNone;

  // Up from `from` until a line has a node further right that is large enough, then down to its first slot.
  std::size_t level = 0;
  std::size_t node = from;
  while (true) {
    if (level + 1 == levels_.size() || node / kFanOut * kFanOut >= levels_[level].size()) return kNone;
    const std::size_t line = node / kFanOut * kFanOut;
    const std::size_t child = first_in_line(levels_[level].data() + line, node - line);
    if (child < kFanOut) {
      node = line + child;
      break;
    }
    node = node / kFanOut + 1;
    ++level;
  }
  while (level > 0) {
    --level;
    node = node * kFanOut + first_in_line(levels_[level].data() + node * kFanOut, 0);
  }
  return node;
}

}  // namespace packsim
