#include "packing/algorithms/balance/split_packs.hpp"

#include <algorithm>
#include <utility>

namespace packsim {
namespace {

using Items = std::vector<ItemIndex>;
using WorkOf = std::function<std::int64_t(ItemIndex)>;

// The halves of a pack of several samples, neither of which is empty.
std::pair<Items, Items> halves(Items pack, const WorkOf& work_of) {
  std::ranges::stable_sort(pack, std::greater{}, work_of);
  Items left;
  Items right;
  std::int64_t left_work = 0;
  std::int64_t right_work = 0;
  for (const ItemIndex item : pack) {
    const bool goes_left = left.empty() || (!right.empty() && left_work <= right_work);
    (goes_left ? left : right).push_back(item);
    (goes_left ? left_work : right_work) += work_of(item);
  }
  return {std::move(left), std::move(right)};
}

}  // namespace

void split_to_multiple(std::vector<Items>& packs, std::size_t multiple, const WorkOf& work_of) {
  std::vector<std::int64_t> work;
  const auto work_of_pack = [&](const Items& pack) {
    std::int64_t sum = 0;
    for (const ItemIndex item : pack) sum += work_of(item);
    return sum;
  };
  for (const Items& pack : packs) work.push_back(work_of_pack(pack));
  while (packs.size() % multiple != 0) {
    std::size_t most = packs.size();
    for (std::size_t i = 0; i < packs.size(); ++i) {
      if (packs[i].size() > 1 && (most == packs.size() || work[i] >= work[most])) most = i;
    }
    if (most == packs.size()) return;
    auto [left, right] = halves(std::move(packs[most]), work_of);
    work[most] = work_of_pack(left);
    work.push_back(work_of_pack(right));
    packs[most] = std::move(left);
    packs.push_back(std::move(right));
  }
}

}  // namespace packsim
