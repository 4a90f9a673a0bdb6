#include "cli/shared/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "cli/shared/print.hpp"
#include "files/text/printable.hpp"

namespace packsim {
namespace {

// A line that a terminal wraps cannot be written over.
constexpr std::size_t kMostColumns = 70;

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {
  if (!quiet_) repeater_ = std::jthread([this](const std::stop_token& stop) { repeat_until_stopped(stop); });
}

Progress::~Progress() {
  repeater_ = {};  // ends it, so that the line below is the last
  if (line_open_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::say(const std::string& what) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  last_said_ = what;
  const Clock::time_point now = Clock::now();
  if (now >= next_) print(what, now);
}

void Progress::repeat_until_stopped(const std::stop_token& stop) {
  constexpr std::chrono::seconds kLongestSilence(5);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const Clock::time_point due = last_printed_ + kLongestSilence;
    const Clock::time_point now = Clock::now();
    if (now >= due) {
      if (!last_said_.empty()) print(last_said_, now);
      last_printed_ = now;
    } else {
      stopped_.wait_until(lock, stop, due, [] { return false; });
    }
  }
}

void Progress::print(const std::string& what, Clock::time_point now) {
  next_ = now + (terminal_ ? std::chrono::milliseconds(500) : std::chrono::milliseconds(2000));
  last_printed_ = now;
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K[{:.0f} s] {}", elapsed_s, printable(what, kMostColumns));
    line_open_ = true;
  } else {
    fmt::print(stderr, "[{:.0f} s] {}\n", elapsed_s, printable(what));
  }
  std::fflush(stderr);
}

void Progress::note(const std::string& line) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  fmt::print(stderr, "{}{}\n", line_open_ ? "\r\x1b[K" : "", printable(line));
  line_open_ = false;
  std::fflush(stderr);
}

void announce_long_work(double work_s) {
  constexpr double kLong_s = 60;
  if (work_s < kLong_s) return;
  print_error("This may take about {:.0f} minute{}; Ctrl-C ends it.\n", std::ceil(work_s / 60),
              work_s <= 60 ? "" : "s");
}

}  // namespace packsim
