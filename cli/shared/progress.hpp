#pragma once

#include <chrono>
#include <mutex>
#include <string>

namespace packsim {

/// Says on stderr what is going on, once the work has taken over a second, and then about twice a second. On
/// a terminal one line is written over again; elsewhere each is a line of its own, and there are fewer.
class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void say(const std::string& what);
  /// A line that stays, whatever the time.
  void note(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  const bool quiet_;
  const bool terminal_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  Clock::time_point next_ = start_ + std::chrono::seconds(1);
  bool line_open_ = false;
};

/// Says on stderr that the work may take long, if the estimate is a minute or more. To be called before the
/// work starts, so that no line of Progress is written over.
void announce_long_work(double work_s);

}  // namespace packsim
