#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "calibration/microbench/distributed/collectives.hpp"
#include "calibration/microbench/distributed/gpu_choice.hpp"
#include "calibration/microbench/distributed/nccl_world.hpp"

namespace packsim::microbench {
namespace {

// NCCL allocates hundreds of megabytes a communicator on a GPU.
constexpr std::size_t kMostGroups = 4;
// What NCCL itself may still allocate when it connects the GPUs.
constexpr std::int64_t kSpareBytes = std::int64_t{1} << 30;

std::string gigabytes(double size_bytes) {
  return std::to_string(size_bytes / 1e9).substr(0, 6) + " GB";
}

std::string text_of(const std::vector<int>& devices) {
  std::string text;
  for (const int device : devices) text += std::to_string(device) + " ";
  return text;
}

std::vector<int> devices_of(const std::string& text) {
  std::vector<int> devices;
  for (std::size_t start = 0; start < text.size();) {
    std::size_t length = 0;
    devices.push_back(std::stoi(text.substr(start), &length));
    start += length + 1;
  }
  return devices;
}

// Made by the first case, ended by main: not by the end of the program, when CUDA is gone already.
NcclWorld* the_world = nullptr;

}  // namespace

NcclWorld::NcclWorld(Device& device) : channel_(dynamic_cast<ControlChannel*>(&device.coordination())) {
  if (channel_ == nullptr) {
    alone_ = std::make_unique<ControlChannel>();
    channel_ = alone_.get();
  }
  std::vector<std::vector<int>> devices;
  for (const std::string& text : channel_->gather(text_of(device.ordinals())))
    devices.push_back(devices_of(text));
  topology_ = make_topology(channel_->gather(node_name()), devices);
}

NcclWorld::~NcclWorld() {
  kept_.clear();
  try {
    // A process that is done would look dead to one that is not.
    channel_->barrier();
  } catch (const std::runtime_error&) {
    // It is; the groups are gone all the same.
  }
}

NcclGroup& NcclWorld::group(std::int64_t n_gpus, std::int64_t n_nodes) {
  const auto at = std::ranges::find_if(
      kept_, [&](const Kept& kept) { return kept.n_gpus == n_gpus && kept.n_nodes == n_nodes; });
  if (at != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, at);
    return *kept_.front().group;
  }
  const std::vector<GpuPlace> places = choose_group(topology_, n_gpus, n_nodes);
  // Every process has the same list, so the same group goes everywhere.
  if (kept_.size() == kMostGroups) kept_.pop_back();
  kept_.push_front({n_gpus, n_nodes, std::make_unique<NcclGroup>(*channel_, places)});
  return *kept_.front().group;
}

void NcclWorld::need_memory(const NcclGroup& group, std::int64_t size_bytes) {
  double free_bytes = std::numeric_limits<double>::infinity();
  for (const GroupMember& member : group.members()) {
    const OnDevice on_device(member.device);
    std::size_t here_bytes = 0;
    std::size_t total_bytes = 0;
    check_cuda(cudaMemGetInfo(&here_bytes, &total_bytes), "cudaMemGetInfo");
    free_bytes = std::min(free_bytes, static_cast<double>(here_bytes));
  }
  free_bytes = -channel_->largest(-free_bytes);
  const double needed_bytes = static_cast<double>(size_bytes) + static_cast<double>(kSpareBytes);
  if (free_bytes < needed_bytes) {
    throw Unavailable("needs " + gigabytes(needed_bytes) + " on each GPU, have " + gigabytes(free_bytes) +
                      " free");
  }
}

void NcclWorld::agree(const std::function<void()>& work) {
  std::string reason;
  try {
    work();
  } catch (const Unavailable& unavailable) {
    reason = unavailable.what();
  }
  for (const std::string& other : channel_->gather(reason)) {
    if (!other.empty()) throw Unavailable(other);
  }
}

NcclWorld& nccl_world(Device& device) {
  if (the_world == nullptr) the_world = new NcclWorld(device);
  return *the_world;
}

void close_collectives() {
  // The others are elsewhere after an error, and taking a communicator apart would wait for them. The end of
  // the process takes care of it.
  if (std::uncaught_exceptions() > 0) return;
  delete the_world;
  the_world = nullptr;
}

}  // namespace packsim::microbench
