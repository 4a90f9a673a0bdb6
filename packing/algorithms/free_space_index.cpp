#include "packing/algorithms/free_space_index.hpp"

#include <bit>

namespace packsim {

IntegerSet::IntegerSet(std::int64_t capacity) : capacity_(capacity) {
  std::size_t n = static_cast<std::size_t>(capacity) + 1;
  do {
    n = (n + 63) / 64;
    levels_.emplace_back(n, 0);
  } while (n > 1);
}

void IntegerSet::insert(std::int64_t value) {
  auto position = static_cast<std::size_t>(value);
  for (auto& level : levels_) {
    level[position / 64] |= std::uint64_t{1} << (position % 64);
    position /= 64;
  }
}

void IntegerSet::erase(std::int64_t value) {
  auto position = static_cast<std::size_t>(value);
  for (auto& level : levels_) {
    level[position / 64] &= ~(std::uint64_t{1} << (position % 64));
    if (level[position / 64] != 0) return;
    position /= 64;
  }
}

bool IntegerSet::contains(std::int64_t value) const {
  const auto position = static_cast<std::size_t>(value);
  return (levels_[0][position / 64] >> (position % 64) & 1) != 0;
}

std::int64_t IntegerSet::smallest_at_least(std::int64_t value) const {
  if (value > capacity_) return kNone;
  auto position = static_cast<std::size_t>(value < 0 ? 0 : value);
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    if (position / 64 >= levels_[level].size()) return kNone;
    const std::uint64_t word = levels_[level][position / 64] & (~std::uint64_t{0} << (position % 64));
    if (word != 0) {
      position = position / 64 * 64 + static_cast<std::size_t>(std::countr_zero(word));
      while (level > 0) {
        --level;
        position = position * 64 + static_cast<std::size_t>(std::countr_zero(levels_[level][position]));
      }
      return static_cast<std::int64_t>(position);
    }
    position = position / 64 + 1;
  }
  return kNone;
}

std::int64_t IntegerSet::largest_at_most(std::int64_t value) const {
  if (value < 0) return kNone;
  auto position = static_cast<std::size_t>(value > capacity_ ? capacity_ : value);
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    const std::uint64_t word = levels_[level][position / 64] & (~std::uint64_t{0} >> (63 - position % 64));
    if (word != 0) {
      position = position / 64 * 64 + 63 - static_cast<std::size_t>(std::countl_zero(word));
      while (level > 0) {
        --level;
        position = position * 64 + 63 - static_cast<std::size_t>(std::countl_zero(levels_[level][position]));
      }
      return static_cast<std::int64_t>(position);
    }
    if (position / 64 == 0) return kNone;
    position = position / 64 - 1;
  }
  return kNone;
}

FreeSpaceIndex::FreeSpaceIndex(std::int64_t capacity_tokens)
    : spaces_(capacity_tokens),
      head_(std::make_unique_for_overwrite<std::uint32_t[]>(static_cast<std::size_t>(capacity_tokens) + 1)),
      tail_(std::make_unique_for_overwrite<std::uint32_t[]>(static_cast<std::size_t>(capacity_tokens) + 1)) {}

void FreeSpaceIndex::insert(std::uint32_t pack, std::int64_t free_tokens) {
  if (pack >= next_.size()) next_.resize(pack + 1);
  const auto space = static_cast<std::size_t>(free_tokens);
  if (spaces_.contains(free_tokens)) {
    next_[tail_[space]] = pack;
  } else {
    head_[space] = pack;
    spaces_.insert(free_tokens);
  }
  tail_[space] = pack;
}

std::uint32_t FreeSpaceIndex::pop(std::int64_t free_tokens) {
  const auto space = static_cast<std::size_t>(free_tokens);
  const std::uint32_t pack = head_[space];
  if (pack == tail_[space]) {
    spaces_.erase(free_tokens);
  } else {
    head_[space] = next_[pack];
  }
  return pack;
}

}  // namespace packsim
