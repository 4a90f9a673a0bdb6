#include "calibration/microbench/core/watchdog.hpp"

#include <unistd.h>

#include <chrono>
#include <iostream>

#include "calibration/microbench/core/json_line.hpp"
#include "files/text/printable.hpp"

namespace packsim::microbench {
namespace {

constexpr int kMachineExit = 3;

}  // namespace

Watchdog::Watchdog(double limit_s) : limit_s_(limit_s) {
  if (limit_s > 0) thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Watchdog::change(const std::string& kernel) {
  {
    const std::scoped_lock lock(mutex_);
    kernel_ = kernel;
    ++n_changes_;
  }
  changed_.notify_one();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    const int seen = n_changes_;
    const auto has_changed = [&] { return is_over_ || n_changes_ != seen; };
    if (kernel_.empty()) {
      changed_.wait(lock, has_changed);
    } else if (!changed_.wait_for(lock, std::chrono::duration<double>(limit_s_), has_changed)) {
      // The measurement file says that the case began: that is how the next start knows.
      std::cerr << "\npacksim_microbench: " << printable(kernel_) << " hangs: expected it to end within "
                << json_number(limit_s_)
                << " s (--case-timeout-s), got no end; the same command goes on behind it\n"
                << std::flush;
      ::_exit(kMachineExit);
    }
  }
}

}  // namespace packsim::microbench
