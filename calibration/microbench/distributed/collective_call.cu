#include <algorithm>
#include <utility>

#include "calibration/microbench/distributed/collective_call.hpp"

namespace packsim::microbench {
namespace {

constexpr std::int64_t kBf16Bytes = 2;
// A GPU that receives nothing still has an address.
constexpr std::int64_t kLeastBytes = 16;
constexpr double kLongestDelay_s = 0.4;

Buffer buffer_of(std::int64_t elements, std::uint64_t seed, cudaStream_t stream) {
  Buffer buffer(std::max(elements * kBf16Bytes, kLeastBytes));
  fill_random_bf16(buffer.bytes(), buffer.size_bytes(), 1.0F, seed, stream);
  return buffer;
}

}  // namespace

CollectiveCall::CollectiveCall(NcclWorld& world, NcclGroup& group, CollectiveShape shape,
                               std::int64_t spare_bytes)
    : group_(&group), shape_(std::move(shape)) {
  std::int64_t most_received = 0;
  for (int rank = 0; rank < shape_.n_gpus; ++rank)
    most_received = std::max(most_received, shape_.receive_elements(rank));
  world.need_memory(group, (shape_.send_elements() + most_received) * kBf16Bytes + spare_bytes);
  world.agree([&] {
    for (const GroupMember& member : group.members()) {
      const OnDevice on_device(member.device);
      const auto seed = static_cast<std::uint64_t>(member.rank);
      sent_.push_back(buffer_of(shape_.send_elements(), 2 * seed + 1, member.stream));
      received_.push_back(buffer_of(shape_.receive_elements(member.rank), 2 * seed + 2, member.stream));
      check_cuda(cudaStreamSynchronize(member.stream), "fill");
    }
  });
  // NCCL connects the GPUs in the first call, which waits for the others on the CPU.
  group.guarded("the first call of the collective", [&] {
    queue();
    group.queue_barrier();
  });
  group.finish();
}

void CollectiveCall::queue() const {
  group_->queue([&](const GroupMember& member) { queue_on(member); });
}

void CollectiveCall::queue_on(const GroupMember& member) const {
  const auto index = static_cast<std::size_t>(&member - group_->members().data());
  // bf16 is two bytes whatever the header calls it.
  auto* const sent = sent_[index].as<std::uint16_t>();
  auto* const received = received_[index].as<std::uint16_t>();
  const auto count = static_cast<std::size_t>(shape_.part_elements);
  const int rank = member.rank;
  const int n = shape_.n_gpus;
  ncclComm_t const communicator = member.communicator;
  cudaStream_t const stream = member.stream;
  const auto check = [&](ncclResult_t status, const char* call) { check_nccl(status, call, communicator); };
  switch (shape_.op) {
    case CollectiveOp::all_gather:
      check(ncclAllGather(sent, received, count, ncclBfloat16, communicator, stream), "ncclAllGather");
      break;
    case CollectiveOp::reduce_scatter:
      check(ncclReduceScatter(sent, received, count, ncclBfloat16, ncclSum, communicator, stream),
            "ncclReduceScatter");
      break;
    case CollectiveOp::all_reduce:
      check(ncclAllReduce(sent, received, count, ncclBfloat16, ncclSum, communicator, stream),
            "ncclAllReduce");
      break;
    case CollectiveOp::send_recv:
      check(ncclSend(sent, count, ncclBfloat16, (rank + 1) % n, communicator, stream), "ncclSend");
      check(ncclRecv(received, count, ncclBfloat16, (rank + n - 1) % n, communicator, stream), "ncclRecv");
      break;
    case CollectiveOp::all_to_all: {
      // Grouped sends and receives, as PyTorch's all_to_all_single: a part of no elements is left out.
      const Splits& splits = shape_.splits;
      std::int64_t send_at = 0;
      std::int64_t receive_at = 0;
      for (int peer = 0; peer < n; ++peer) {
        const std::int64_t n_sent = splits.between(rank, peer);
        const std::int64_t n_received = splits.between(peer, rank);
        if (n_sent > 0) {
          check(ncclSend(sent + send_at, static_cast<std::size_t>(n_sent), ncclBfloat16, peer, communicator,
                         stream),
                "ncclSend");
        }
        if (n_received > 0) {
          check(ncclRecv(received + receive_at, static_cast<std::size_t>(n_received), ncclBfloat16, peer,
                         communicator, stream),
                "ncclRecv");
        }
        send_at += n_sent;
        receive_at += n_received;
      }
      break;
    }
  }
}

void CollectiveCall::write_sent(std::size_t member, const std::vector<std::uint16_t>& values) const {
  const OnDevice on_device(group_->members()[member].device);
  check_cuda(cudaMemcpy(sent_[member].bytes(), values.data(), values.size() * sizeof values[0],
                        cudaMemcpyHostToDevice),
             "cudaMemcpy");
}

std::vector<std::uint16_t> CollectiveCall::read_received(std::size_t member) const {
  const OnDevice on_device(group_->members()[member].device);
  std::vector<std::uint16_t> values(
      static_cast<std::size_t>(shape_.receive_elements(group_->members()[member].rank)));
  check_cuda(cudaMemcpy(values.data(), received_[member].bytes(), values.size() * sizeof(std::uint16_t),
                        cudaMemcpyDeviceToHost),
             "cudaMemcpy");
  return values;
}

void queue_start(const NcclGroup& group, double delay_s) {
  for (const GroupMember& member : group.members()) {
    const OnDevice on_device(member.device);
    queue_delay(delay_s, member.stream);
  }
  group.queue_barrier();
}

bool lengthen(double& delay_s) {
  delay_s *= 2;
  return delay_s < kLongestDelay_s;
}

}  // namespace packsim::microbench
