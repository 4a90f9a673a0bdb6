#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "packing/pack.hpp"

namespace packsim {
namespace {

[[noreturn]] void broken(const Packing& packing, const std::string& what) {
  throw std::logic_error("strategy " + std::string(packing.strategy->name) + ": " + what);
}

}  // namespace

void check_packing(const Packing& packing, const PackRequest& request) {
  const auto lengths = packing.lengths_tokens;
  const std::int64_t longest = packing.capacities_tokens.back();
  std::vector<bool> packed(lengths.size(), false);
  std::size_t n_packed = 0;
  for (std::size_t group = 0; group < packing.groups.size(); ++group) {
    const PackSet& packs = packing.groups[group];
    const std::int64_t capacity = packing.capacities_tokens[group];
    for (std::size_t p = 0; p < packs.n_packs(); ++p) {
      std::int64_t tokens = 0;
      std::int32_t longest_row = 0;
      for (const ItemIndex item : packs[p]) {
        if (item >= lengths.size())
          broken(packing, "pack " + std::to_string(p) + " holds an item that is not there");
        if (packed[item]) broken(packing, "item " + std::to_string(item) + " is in two packs, expected one");
        packed[item] = true;
        tokens += lengths[item];
        longest_row = std::max(longest_row, lengths[item]);
        if (lengths[item] == 0 && request.empty != Empty::keep) {
          broken(packing, "item " + std::to_string(item) + " has no tokens, expected it left out");
        }
      }
      n_packed += packs[p].size();
      if (packs[p].empty()) broken(packing, "pack " + std::to_string(p) + " is empty");
      const bool own_pack =
          request.over_long == OverLong::own_pack && packs[p].size() == 1 && tokens > longest;
      const std::int64_t row_tokens = packing.strategy->layout == Layout::rows ? longest_row : tokens;
      if (row_tokens > capacity && !own_pack) {
        broken(packing, "pack " + std::to_string(p) + " has " + std::to_string(row_tokens) +
                            " tokens in a row, expected at most " + std::to_string(capacity));
      }
    }
  }
  if (n_packed == lengths.size()) return;
  for (std::size_t item = 0; item < lengths.size(); ++item) {
    const bool may_skip = (lengths[item] == 0 && request.empty != Empty::keep) ||
                          (lengths[item] > longest && request.over_long == OverLong::drop);
    if (!packed[item] && !may_skip)
      broken(packing, "item " + std::to_string(item) + " is in no pack, expected one");
  }
}

}  // namespace packsim
