#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "calibration/microbench/distributed/collective_call.hpp"
#include "calibration/microbench/distributed/collectives.hpp"

namespace packsim::microbench {
namespace {

constexpr double kFirstDelay_s = 400e-6;

class CollectiveTimer {
 public:
  CollectiveTimer(NcclWorld& world, NcclGroup& group, const KernelCase& kernel)
      : call_(world, group,
              collective_shape(kernel.value("op"), group.n_gpus(), kernel.integer("bytes"),
                               kernel.number("imbalance"))),
        n_calls_(calls_per_sample(kernel.integer("bytes"))) {
    for (const GroupMember& member : call_.group().members()) {
      const OnDevice on_device(member.device);
      starts_.emplace_back();
      stops_.emplace_back();
    }
    if (attempt_s() == 0) throw Unavailable(kNeverQueued);
  }

  double time_once_s() {
    const double time_s = attempt_s();
    if (time_s == 0) throw std::runtime_error(kNeverQueued);
    return time_s;
  }

  int n_calls() const { return n_calls_; }

 private:
  void record(const std::vector<Event>& events) const {
    const std::span<const GroupMember> members = call_.group().members();
    for (std::size_t i = 0; i < members.size(); ++i) {
      const OnDevice on_device(members[i].device);
      events[i].record(members[i].stream);
    }
  }

  // 0, on all processes, where the calls are never queued in time.
  double attempt_s() {
    return call_.group().attempt([&] {
      while (true) {
        // Infinity on any process repeats the sample on all.
        const double time_s = call_.group().channel().largest(sample_s());
        if (std::isfinite(time_s)) return time_s;
        if (!lengthen(delay_s_)) return 0.0;
      }
    });
  }

  // Infinity where the GPUs did not wait until everything was queued.
  double sample_s() {
    NcclGroup& group = call_.group();
    queue_start(group, delay_s_);
    record(starts_);
    for (int i = 0; i < n_calls_; ++i) call_.queue();
    record(stops_);
    const bool is_late = std::ranges::any_of(starts_, [](const Event& start) { return start.is_over(); });
    std::vector<const Event*> all;
    for (const Event& stop : stops_) all.push_back(&stop);
    group.wait(all);
    if (is_late) return std::numeric_limits<double>::infinity();
    double slowest_s = 0;
    for (std::size_t i = 0; i < starts_.size(); ++i)
      slowest_s = std::max(slowest_s, seconds_between(starts_[i], stops_[i]));
    return slowest_s / n_calls_;
  }

  CollectiveCall call_;
  int n_calls_;
  std::vector<Event> starts_;
  std::vector<Event> stops_;
  double delay_s_ = kFirstDelay_s;
};

}  // namespace

Prepared prepare_collective(const KernelCase& kernel, Device& device) {
  NcclWorld& world = nccl_world(device);
  NcclGroup& group = world.group(kernel.integer("gpus"), kernel.integer("nodes"));
  const auto timer = std::make_shared<CollectiveTimer>(world, group, kernel);
  return {.library = "nccl",
          .time_once_s = [timer] { return timer->time_once_s(); },
          .details = {{"calls_per_sample", std::to_string(timer->n_calls())}}};
}

std::string collective_standing(const Device& /*device*/) {
  return "NCCL " + nccl_version();
}

}  // namespace packsim::microbench
