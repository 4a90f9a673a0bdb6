#include "packing/algorithms/two_limits.hpp"

#include <algorithm>

namespace packsim {

TwoLimitBestFit::TwoLimitBestFit(const PackProblem& problem, std::size_t n_items, std::uint32_t most_items)
    : problem_(problem),
      most_items_(most_items),
      most_extra_(static_cast<std::size_t>(problem.capacity_tokens) + 1),
      placements_(n_items) {}

TwoLimitBestFit::Room TwoLimitBestFit::take(std::int32_t tokens, std::int32_t extra) {
  const std::size_t slot = most_extra_.find(extra, static_cast<std::size_t>(tokens));
  if (slot == FirstFitTree::kNone)
    return {problem_.capacity_tokens, problem_.extra_capacity, placements_.open_pack()};
  const auto room = static_cast<std::int64_t>(slot);
  auto& alike = packs_[room];
  const auto [room_extra, pack] = alike.top();
  alike.pop();
  most_extra_.set(slot, alike.empty() ? FirstFitTree::kEmpty : alike.top().first);
  return {room, room_extra, pack};
}

void TwoLimitBestFit::give_back(const Room& room) {
  auto& alike = packs_[room.tokens];
  alike.emplace(room.extra, room.pack);
  most_extra_.set(static_cast<std::size_t>(room.tokens), alike.top().first);
}

void TwoLimitBestFit::place(ItemIndex item) {
  const std::int32_t length = problem_.lengths_tokens[item];
  const std::int32_t extra = problem_.extra_sizes[item];
  if (length > problem_.capacity_tokens) {  // a pack of its own, which takes nothing else
    placements_.place(placements_.open_pack());
    return;
  }
  Room room = take(length, extra);
  placements_.place(room.pack);
  room.tokens -= length;
  room.extra -= extra;
  if (placements_.n_items(room.pack) < most_items_) give_back(room);
}

std::vector<ItemIndex> largest_share_first(const PackProblem& problem) {
  std::vector<std::pair<std::int64_t, ItemIndex>> shares;  // (-share x capacity x extra capacity, item)
  shares.reserve(problem.lengths_tokens.size());
  for (std::size_t i = 0; i < problem.lengths_tokens.size(); ++i) {
    const std::int64_t length = problem.lengths_tokens[i];
    if (problem.skips(problem.lengths_tokens[i])) continue;
    const std::int64_t share =
        std::max(length * problem.extra_capacity, problem.extra_sizes[i] * problem.capacity_tokens);
    shares.emplace_back(-share, static_cast<ItemIndex>(i));
  }
  std::ranges::sort(shares);
  std::vector<ItemIndex> order(shares.size());
  std::ranges::transform(shares, order.begin(), &std::pair<std::int64_t, ItemIndex>::second);
  return order;
}

}  // namespace packsim
