#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace packsim {

/// Says on stderr what is going on, once the work has taken over a second, and then about twice a second. On
/// a terminal one line is written over again; elsewhere each is a line of its own, and there are fewer. Where
/// nothing new is said for 5 seconds, the last line comes again with the time, so that a long step is seen to
/// be one.
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
  void print(const std::string& what, Clock::time_point now);
  void repeat_until_stopped(const std::stop_token& stop);

  const bool quiet_;
  const bool terminal_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  Clock::time_point next_ = start_ + std::chrono::seconds(1);
  Clock::time_point last_printed_ = start_;
  std::string last_said_;
  bool line_open_ = false;
  std::condition_variable_any stopped_;
  std::jthread repeater_;  // the last member: it uses the others
};

/// Says on stderr that the work may take long, if the estimate is a minute or more. To be called before the
/// work starts, so that no line of Progress is written over.
void announce_long_work(double work_s);

}  // namespace packsim
