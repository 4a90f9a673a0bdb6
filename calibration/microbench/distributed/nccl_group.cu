#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <stdexcept>
#include <thread>

#include "calibration/microbench/distributed/nccl_group.hpp"
#include "calibration/microbench/distributed/processes/connection.hpp"
#include "files/text/printable.hpp"

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 13, 0)
#error "expected NCCL 2.13 or later, which has ncclGetLastError"
#endif

namespace packsim::microbench {
namespace {

// A gigabyte over a slow network takes a minute; connecting thousands of GPUs takes several.
constexpr double kLongestWait_s = 300;
constexpr double kWatchEvery_s = 0.01;
constexpr double kAbort_s = 10;
constexpr double kDestroy_s = 60;

// A thread or kernel that cannot be ended would hold up every destructor, and those of CUDA itself.
[[noreturn]] void end_at_once(const std::string& reason) {
  std::fputs(message_lines("packsim_microbench", reason).c_str(), stderr);
  std::fflush(nullptr);
  std::_Exit(3);
}

}  // namespace

struct NcclGroup::State {
  std::vector<GroupMember> members;
  bool is_aborted = false;
};

void check_nccl(ncclResult_t status, const char* call, ncclComm_t communicator) {
  if (status == ncclSuccess) return;
  const char* const detail = ncclGetLastError(communicator);
  std::string text = std::string(call) + ": " + ncclGetErrorString(status);
  if (detail != nullptr && *detail != '\0') text += std::string(": ") + detail;
  throw std::runtime_error(text);
}

std::string nccl_version() {
  int version = 0;
  check_nccl(ncclGetVersion(&version), "ncclGetVersion");
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

NcclGroup::NcclGroup(ControlChannel& channel, const std::vector<GpuPlace>& places)
    : channel_(&channel), n_gpus_(static_cast<int>(places.size())), state_(std::make_shared<State>()) {
  for (int rank = 0; rank < n_gpus_; ++rank) {
    const GpuPlace& place = places[static_cast<std::size_t>(rank)];
    if (place.process != channel.rank()) continue;
    const OnDevice on_device(place.device);
    streams_.emplace_back();
    try {
      barriers_.emplace_back(static_cast<std::int64_t>(sizeof(float)));
    } catch (const Unavailable& unavailable) {
      // Not a case that is too large: the others go on to make the group, and this GPU cannot.
      throw std::runtime_error(unavailable.what());
    }
    check_cuda(cudaMemset(barriers_.back().bytes(), 0, sizeof(float)), "cudaMemset");
    state_->members.push_back({rank, place.device, nullptr, streams_.back().get()});
  }
  ncclUniqueId id{};
  std::string mine;
  if (places.front().process == channel.rank()) {
    check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    mine.assign(id.internal, sizeof id.internal);
  }
  // Everybody has come this far alive when the id is there: NCCL itself would wait for a process that has
  // not.
  const std::string text = channel.gather(mine)[static_cast<std::size_t>(places.front().process)];
  std::memcpy(id.internal, text.data(), std::min(text.size(), sizeof id.internal));
  guarded("ncclCommInitRank", [state = state_, id, n_gpus = n_gpus_] {
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    ncclResult_t status = ncclSuccess;
    for (GroupMember& member : state->members) {
      const OnDevice on_device(member.device);
      if (status == ncclSuccess) status = ncclCommInitRank(&member.communicator, n_gpus, id, member.rank);
    }
    const ncclResult_t end_status = ncclGroupEnd();
    check_nccl(status, "ncclCommInitRank");
    check_nccl(end_status, "ncclCommInitRank");
  });
  channel.barrier();
  is_connected_ = true;
}

NcclGroup::~NcclGroup() {
  if (state_->is_aborted) return;
  try {
    channel_->check();
  } catch (const std::runtime_error& error) {
    abort(error.what());
    return;
  }
  // Destroying waits for the group's other GPUs of this process alone, but for NCCL's threads as well.
  std::promise<void> done;
  const std::future<void> is_done = done.get_future();
  std::thread([state = state_, done = std::move(done)]() mutable {
    for (GroupMember& member : state->members) {
      cudaSetDevice(member.device);
      if (member.communicator != nullptr) ncclCommDestroy(member.communicator);
    }
    done.set_value();
  }).detach();
  if (is_done.wait_for(std::chrono::duration<double>(kDestroy_s)) != std::future_status::ready)
    end_at_once("ncclCommDestroy did not end within 60 s");
}

std::span<const GroupMember> NcclGroup::members() const {
  return state_->members;
}

void NcclGroup::queue(const std::function<void(const GroupMember&)>& calls) const {
  if (state_->members.empty()) return;
  check_nccl(ncclGroupStart(), "ncclGroupStart");
  try {
    for (const GroupMember& member : state_->members) {
      const OnDevice on_device(member.device);
      calls(member);
    }
  } catch (...) {
    ncclGroupEnd();
    throw;
  }
  check_nccl(ncclGroupEnd(), "ncclGroupEnd", state_->members.front().communicator);
}

void NcclGroup::queue_barrier() const {
  queue([&](const GroupMember& member) {
    const auto index = static_cast<std::size_t>(&member - state_->members.data());
    float* const value = barriers_[index].as<float>();
    check_nccl(ncclAllReduce(value, value, 1, ncclFloat, ncclSum, member.communicator, member.stream),
               "ncclAllReduce", member.communicator);
  });
}

void NcclGroup::wait(const std::vector<const Event*>& events) {
  const Clock::time_point deadline = after(kLongestWait_s);
  Clock::time_point next_watch = after(kWatchEvery_s);
  for (const Event* event : events) {
    while (!event->is_over()) {
      if (Clock::now() >= next_watch) {
        watch();
        next_watch = after(kWatchEvery_s);
      }
      if (Clock::now() >= deadline) throw std::runtime_error("the collective did not end within 300 s");
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
  }
}

void NcclGroup::watch() {
  channel_->check();
  for (const GroupMember& member : state_->members) {
    if (member.communicator == nullptr) continue;
    ncclResult_t status = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(member.communicator, &status), "ncclCommGetAsyncError",
               member.communicator);
    check_nccl(status, "collective", member.communicator);
  }
}

void NcclGroup::guarded(const char* what, const std::function<void()>& work) {
  if (state_->members.empty()) return;
  std::packaged_task<void()> task([&work, device = state_->members.front().device] {
    // A new thread is on GPU 0, which may be another process's.
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    work();
  });
  std::future<void> result = task.get_future();
  std::thread(std::move(task)).detach();
  const auto is_done = [&](double wait_s) {
    return result.wait_for(std::chrono::duration<double>(wait_s)) == std::future_status::ready;
  };
  const Clock::time_point deadline = after(kLongestWait_s);
  try {
    while (!is_done(kWatchEvery_s)) {
      channel_->check();
      if (Clock::now() >= deadline) throw std::runtime_error(std::string(what) + " did not end within 300 s");
    }
  } catch (const std::runtime_error& error) {
    channel_->give_up(error.what());
    if (is_connected_) abort(error.what());
    // The thread uses what this function was called with: it must be over before that is taken apart.
    if (!is_done(kAbort_s)) end_at_once(error.what());
    throw;
  }
  try {
    result.get();
  } catch (const std::runtime_error& error) {
    fail(error.what());
  }
}

double NcclGroup::attempt(const std::function<double()>& sample) {
  try {
    return sample();
  } catch (const std::runtime_error& error) {
    fail(error.what());
  }
}

void NcclGroup::finish(const std::function<void()>& calls) {
  std::vector<Event> ends;
  ends.reserve(state_->members.size());
  attempt([&] {
    calls();
    std::vector<const Event*> all;
    for (const GroupMember& member : state_->members) {
      const OnDevice on_device(member.device);
      ends.emplace_back();
      ends.back().record(member.stream);
      all.push_back(&ends.back());
    }
    wait(all);
    return 0.0;
  });
}

void NcclGroup::fail(const std::string& reason) {
  channel_->give_up(reason);
  if (is_connected_) abort(reason);
  throw std::runtime_error(reason);
}

void NcclGroup::abort(const std::string& reason) {
  if (state_->is_aborted) return;
  state_->is_aborted = true;
  const Clock::time_point deadline = after(kAbort_s);
  // One thread each: an abort may wait for those of the process's other GPUs.
  std::vector<std::future<void>> aborts;
  for (const GroupMember& member : state_->members) {
    if (member.communicator == nullptr) continue;
    std::packaged_task<void()> task([state = state_, member] {
      cudaSetDevice(member.device);
      ncclCommAbort(member.communicator);
    });
    aborts.push_back(task.get_future());
    std::thread(std::move(task)).detach();
  }
  for (const std::future<void>& one : aborts) {
    if (one.wait_until(deadline) != std::future_status::ready) end_at_once(reason);
  }
  // Memory is freed next, which waits for the GPU.
  for (const GroupMember& member : state_->members) {
    while (cudaStreamQuery(member.stream) == cudaErrorNotReady) {
      if (Clock::now() >= deadline) end_at_once(reason);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  cudaGetLastError();
}

}  // namespace packsim::microbench
