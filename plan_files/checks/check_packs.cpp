#include <algorithm>
#include <limits>
#include <string>

#include "packing/options/limits.hpp"
#include "plan_files/checks/checks.hpp"

namespace packsim {
namespace {

// The most attention work of a pack, so that sums over its rows fit in 64 bits.
constexpr double kMostPackPairs = 4e18;

class PackReader {
 public:
  PackReader(const PlanTables& tables, const Strategy& strategy, Mistakes& mistakes)
      : tables_(tables),
        has_rows_(strategy.layout == Layout::rows),
        mistakes_(mistakes),
        longest_(std::ranges::max(tables.groups, {}, &PlanGroup::capacity_tokens).capacity_tokens) {
    lengths_.lengths_tokens = tables.lengths_tokens;
    packed_.packs.resize(tables.pack_offsets.size() - 1);
    packed_.is_packed.resize(tables.lengths_tokens.size());
  }

  PackedItems read() && {
    const LossTokens loss_tokens(lengths_, tables_.loss_tokens);
    for (std::size_t g = 0; g < tables_.groups.size(); ++g) {
      const PlanGroup& group = tables_.groups[g];
      for (std::uint64_t p = group.first_pack; p < group.first_pack + group.n_packs; ++p)
        read_pack(g, p, loss_tokens);
    }
    return std::move(packed_);
  }

 private:
  void read_pack(std::size_t group, std::uint64_t pack, const LossTokens& loss_tokens) {
    const std::uint64_t end = tables_.pack_offsets[pack + 1];
    const std::uint64_t begin = tables_.pack_offsets[pack];
    PackLoad load;
    std::int32_t longest_row = 0;
    std::int32_t shortest_row = std::numeric_limits<std::int32_t>::max();
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint32_t item = tables_.pack_items[i];
      loss_tokens.load_ahead(tables_.pack_items, i);
      if (packed_.is_packed[item] && !std::exchange(is_shared_, true))
        mistakes_.add("pack_items", i, "an item that is in no other pack", item);
      packed_.is_packed[item] = true;
      const std::int32_t length = tables_.lengths_tokens[item];
      const std::int64_t with_loss = loss_tokens[item];
      load.tokens += length;
      load.losses += {.loss_tokens = with_loss, .n_samples = with_loss > 0 ? 1 : 0};
      longest_row = std::max(longest_row, length);
      shortest_row = std::min(shortest_row, length);
      packed_.own_pack_samples += length > longest_ ? 1 : 0;
    }
    packed_.n_packed += static_cast<std::int64_t>(end - begin);
    packed_.packs[pack] = load;
    const std::uint64_t n_items = end - begin;
    if (shortest_row == 0 && tables_.facts.empty != Empty::keep && !std::exchange(has_empty_, true))
      add(group, pack, "no empty sample, as the facts do not keep them", "one");
    check_size(group, pack, has_rows_ ? longest_row : load.tokens, n_items);
  }

  void check_size(std::size_t group, std::uint64_t pack, std::int64_t row_tokens, std::uint64_t n_items) {
    if (has_long_) return;
    const std::int64_t capacity = tables_.groups[group].capacity_tokens;
    const bool is_own =
        tables_.facts.over_long == OverLong::own_pack && n_items == 1 && row_tokens > longest_;
    const std::int64_t most = is_own ? kLongestCapacityTokens : capacity;
    const std::string unit = has_rows_ ? " tokens in a row" : " tokens";
    if (row_tokens > most) {
      has_long_ = true;
      return add(group, pack, "at most " + std::to_string(most) + unit, std::to_string(row_tokens));
    }
    const double row = static_cast<double>(std::max(row_tokens, capacity)) +
                       static_cast<double>(tables_.facts.pad_multiple_tokens);
    const double n_rows = has_rows_ ? static_cast<double>(n_items) : 1;
    if (n_rows * row * row > kMostPackPairs) {
      has_long_ = true;
      add(group, pack, "rows of at most 4e18 token pairs together", std::to_string(n_items) + " rows");
    }
  }

  void add(std::size_t group, std::uint64_t pack, const std::string& expected, const std::string& got) {
    mistakes_.add("pack " + std::to_string(pack - tables_.groups[group].first_pack) + " of group " +
                      std::to_string(group),
                  expected, got);
  }

  const PlanTables& tables_;
  bool has_rows_;
  Mistakes& mistakes_;
  std::int64_t longest_;  // pack length
  Packing lengths_;       // that LossTokens looks into
  PackedItems packed_;
  // The first of each kind is told.
  bool is_shared_ = false;
  bool has_empty_ = false;
  bool has_long_ = false;
};

}  // namespace

PackedItems check_packs(const PlanTables& tables, const Strategy& strategy, Mistakes& mistakes) {
  return PackReader(tables, strategy, mistakes).read();
}

}  // namespace packsim
