#include "calibration/microbench/core/stop_signals.hpp"

#include <csignal>

namespace packsim::microbench {
namespace {

volatile std::sig_atomic_t g_asked = 0;  // a signal handler reaches nothing but globals

extern "C" void remember_signal(int) {
  g_asked = 1;
}

}  // namespace

StopSignals::StopSignals() {
  g_asked = 0;
  struct sigaction action {};
  action.sa_handler = remember_signal;
  // Once only, so that a run that hangs can still be ended; calls to the system go on where they were.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

StopSignals::~StopSignals() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool StopSignals::asked() {
  return g_asked != 0;
}

}  // namespace packsim::microbench
