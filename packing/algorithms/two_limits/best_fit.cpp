#include "packing/algorithms/two_limits/best_fit.hpp"

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

}  // namespace packsim
