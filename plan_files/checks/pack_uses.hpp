#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "plan_files/checks/checks.hpp"

namespace packsim {

/// How often each pack is trained in one epoch after another, and what all epochs together leave out or train
/// again. Takes time for what an epoch trains, not for all packs there are.
class PackUses {
 public:
  explicit PackUses(std::span<const PackLoad> packs) : packs_(packs), latest_(packs.size()) {
    for (const PackLoad& pack : packs) all_tokens_ = sum(all_tokens_, pack.tokens);
  }

  void begin_epoch() {
    ++epoch_;
    n_used_ = 0;
    used_tokens_ = 0;
  }

  /// Counts a pack; how often it is in this epoch by now.
  std::uint32_t use(std::uint64_t pack) {
    Latest& latest = latest_[pack];
    if (latest.epoch == epoch_) {
      ++repeated_packs;
      repeated_tokens = sum(repeated_tokens, packs_[pack].tokens);
      return ++latest.n_uses;
    }
    latest = {.epoch = epoch_, .n_uses = 1};
    ++n_used_;
    used_tokens_ += packs_[pack].tokens;
    return 1;
  }

  /// How many packs the epoch has left out.
  std::int64_t end_epoch() {
    const std::int64_t n_dropped = std::ssize(packs_) - n_used_;
    dropped_packs += n_dropped;
    dropped_tokens = sum(dropped_tokens, all_tokens_ - used_tokens_);
    return n_dropped;
  }

  // These count all epochs that have ended.
  std::int64_t dropped_packs = 0;
  std::int64_t dropped_tokens = 0;
  std::int64_t repeated_packs = 0;
  std::int64_t repeated_tokens = 0;

 private:
  struct Latest {
    std::uint32_t epoch = 0;
    std::uint32_t n_uses = 0;
  };

  // Sums do not exceed the largest number.
  static std::int64_t sum(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
  }

  std::span<const PackLoad> packs_;
  std::vector<Latest> latest_;  // [n_packs] epoch that trains each
  std::uint32_t epoch_ = 0;
  std::int64_t all_tokens_ = 0;
  std::int64_t n_used_ = 0;
  std::int64_t used_tokens_ = 0;
};

}  // namespace packsim
