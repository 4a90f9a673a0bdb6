#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace packsim::microbench {

/// Ends the process with exit code 3 where a case takes too long. A call of CUDA that hangs cannot be
/// interrupted, and a run that is left alone must not wait for it for ever.
class Watchdog {
 public:
  /// limit_s: by the clock on the wall, of one case; 0: none.
  explicit Watchdog(double limit_s);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void begin(const std::string& kernel) { change(kernel); }
  void end() { change(""); }

 private:
  void change(const std::string& kernel);
  void watch();

  double limit_s_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string kernel_;  // what runs; empty between cases
  bool is_over_ = false;
  int n_changes_ = 0;
  std::thread thread_;
};

}  // namespace packsim::microbench
