#include "calibration/microbench/distributed/collective_shape.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "calibration/microbench/core/family.hpp"

namespace packsim::microbench {
namespace {

constexpr std::int64_t kBf16Bytes = 2;
// Parts that begin at multiples of 16 bytes, as rows of a tensor do: others are copied more slowly.
constexpr std::int64_t kAlignedElements = 8;

constexpr std::array<std::string_view, 5> kNames = {"all_to_all", "all_gather", "reduce_scatter",
                                                    "all_reduce", "send_recv"};

bool sums(const CollectiveShape& shape) {
  return shape.op == CollectiveOp::all_reduce || shape.op == CollectiveOp::reduce_scatter;
}

}  // namespace

CollectiveOp collective_op(std::string_view name) {
  const auto at = std::ranges::find(kNames, name);
  if (at == kNames.end()) throw std::logic_error("no collective " + std::string(name));
  return static_cast<CollectiveOp>(at - kNames.begin());
}

std::int64_t CollectiveShape::send_elements() const {
  return op == CollectiveOp::all_gather ? part_elements : elements;
}

std::int64_t CollectiveShape::receive_elements(int rank) const {
  if (op == CollectiveOp::all_to_all) return splits.received(rank);
  return op == CollectiveOp::reduce_scatter ? part_elements : elements;
}

CollectiveShape collective_shape(std::string_view op, int n_gpus, std::int64_t bytes, double imbalance) {
  CollectiveShape shape{.op = collective_op(op), .n_gpus = n_gpus};
  const bool has_parts = shape.op != CollectiveOp::all_reduce && shape.op != CollectiveOp::send_recv;
  const bool is_uneven = imbalance > 1;
  if (is_uneven && shape.op != CollectiveOp::all_to_all)
    throw Unavailable(std::string(op) + " has no uneven form");
  if (bytes > std::int64_t{1} << 40)
    throw Unavailable("no GPU has memory for " + std::to_string(bytes) + " bytes");
  const std::int64_t unit = has_parts && !is_uneven ? kBf16Bytes * n_gpus : kBf16Bytes;
  if (bytes % unit != 0) {
    throw Unavailable("needs a multiple of " + std::to_string(unit) +
                      " bytes, a bf16 value for each part, got " + std::to_string(bytes));
  }
  shape.elements = bytes / kBf16Bytes;
  shape.part_elements = has_parts ? shape.elements / n_gpus : shape.elements;
  if (shape.op == CollectiveOp::all_to_all) {
    const std::int64_t granule = is_uneven && shape.elements % kAlignedElements == 0 ? kAlignedElements : 1;
    shape.splits = make_splits(shape.n_gpus, shape.elements / granule, imbalance);
    for (std::int64_t& part : shape.splits.elements) part *= granule;
  }
  return shape;
}

int calls_per_sample(std::int64_t bytes) {
  constexpr std::int64_t kLong = std::int64_t{16} << 20;  // tens of microseconds on any link
  return static_cast<int>(std::clamp<std::int64_t>(kLong / std::max<std::int64_t>(bytes, 1), 1, 16));
}

float sent_value(const CollectiveShape& shape, int rank, std::int64_t index) {
  // bf16 has 8 bits: integers up to 256 are exact, and so must be every sum on the way.
  const std::int64_t limit = sums(shape) ? std::clamp(256 / shape.n_gpus + 1, 1, 8) : 251;
  return static_cast<float>((rank * std::int64_t{37} + index) % limit);
}

float received_value(const CollectiveShape& shape, int rank, std::int64_t index) {
  const auto summed = [&](std::int64_t at) {
    float sum = 0;
    for (int sender = 0; sender < shape.n_gpus; ++sender) sum += sent_value(shape, sender, at);
    return sum;
  };
  switch (shape.op) {
    case CollectiveOp::all_reduce:
      return summed(index);
    case CollectiveOp::reduce_scatter:
      return summed(rank * shape.part_elements + index);
    case CollectiveOp::all_gather:
      return sent_value(shape, static_cast<int>(index / shape.part_elements), index % shape.part_elements);
    case CollectiveOp::send_recv:
      return sent_value(shape, (rank + shape.n_gpus - 1) % shape.n_gpus, index);
    case CollectiveOp::all_to_all: {
      int sender = 0;
      while (index >= shape.splits.between(sender, rank)) index -= shape.splits.between(sender++, rank);
      return sent_value(shape, sender, shape.splits.before_receiver(sender, rank) + index);
    }
  }
  return 0;
}

}  // namespace packsim::microbench
