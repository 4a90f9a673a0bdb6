#include "calibration/microbench/distributed/splits.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "calibration/microbench/core/family.hpp"

namespace packsim::microbench {

std::int64_t Splits::between(int sender, int receiver) const {
  return elements[static_cast<std::size_t>(sender) * static_cast<std::size_t>(n_gpus) +
                  static_cast<std::size_t>(receiver)];
}

std::int64_t Splits::before_receiver(int sender, int receiver) const {
  std::int64_t sum = 0;
  for (int j = 0; j < receiver; ++j) sum += between(sender, j);
  return sum;
}

std::int64_t Splits::before_sender(int sender, int receiver) const {
  std::int64_t sum = 0;
  for (int i = 0; i < sender; ++i) sum += between(i, receiver);
  return sum;
}

Splits make_splits(int n_gpus, std::int64_t elements, double imbalance) {
  // 2^40 elements of 2^14 GPUs still add up in 64 bits.
  constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
  if (n_gpus < 1 || n_gpus > (1 << 14) || elements < 0 || elements > kMostElements || !(imbalance >= 1))
    throw std::logic_error("splits: expected 1..16384 GPUs, 0..2^40 elements, an imbalance of at least 1");
  if (imbalance > n_gpus) {
    throw Unavailable("a GPU of " + std::to_string(n_gpus) + " receives at most " + std::to_string(n_gpus) +
                      " times the mean");
  }
  const std::int64_t total = n_gpus * elements;
  const std::int64_t most =
      std::min<std::int64_t>(std::llround(imbalance * static_cast<double>(elements)), total);
  Splits splits{n_gpus, std::vector<std::int64_t>(static_cast<std::size_t>(n_gpus) * n_gpus)};
  // Each column is split evenly over the senders; what is left of it goes, one element each, to the next
  // senders in turn. Dealt round like this, every sender ends with the same sum.
  int next_sender = 0;
  for (int receiver = 0; receiver < n_gpus; ++receiver) {
    const std::int64_t others = n_gpus - 1;
    const std::int64_t rest = total - most;
    const std::int64_t column = receiver == 0 ? most : rest / others + (receiver - 1 < rest % others ? 1 : 0);
    for (int sender = 0; sender < n_gpus; ++sender)
      splits.elements[static_cast<std::size_t>(sender) * n_gpus + receiver] = column / n_gpus;
    for (std::int64_t left = column % n_gpus; left > 0; --left) {
      ++splits.elements[static_cast<std::size_t>(next_sender) * n_gpus + receiver];
      next_sender = (next_sender + 1) % n_gpus;
    }
  }
  return splits;
}

}  // namespace packsim::microbench
