#pragma once

#include <cstdint>
#include <vector>

namespace packsim::microbench {

/// How much every GPU of a group sends to every other in an all-to-all, itself included.
struct Splits {
  int n_gpus = 0;
  std::vector<std::int64_t> elements;  ///< [n_gpus * n_gpus], by sender, then receiver

  std::int64_t between(int sender, int receiver) const;
  /// Elements that it sends to the receivers before this one: where the part begins in its buffer.
  std::int64_t before_receiver(int sender, int receiver) const;
  /// Elements that it receives from the senders before this one.
  std::int64_t before_sender(int sender, int receiver) const;
  std::int64_t received(int receiver) const { return before_sender(n_gpus, receiver); }
};

/// Every GPU sends `elements`. GPU 0 receives `imbalance` times as much (rounded to an element), the others
/// share the rest evenly, and each GPU sends about the same share of its elements to a given receiver.
/// Throws Unavailable for an imbalance over the number of GPUs: more than everything cannot be received.
Splits make_splits(int n_gpus, std::int64_t elements, double imbalance);

}  // namespace packsim::microbench
