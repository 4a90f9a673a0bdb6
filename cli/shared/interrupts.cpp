#include "cli/shared/interrupts.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>

namespace packsim {
namespace {

constexpr int kEnding = -1;
std::atomic<int> g_outputs{0};  // how many are being written; kEnding: no other may begin
std::atomic<int> g_signal{0};   // the first one that came
enum EarlyState { kNoEarlyAnswer, kMayBeAsked, kIsAsked };
std::atomic<int> g_early_answer{kNoEarlyAnswer};
static_assert(std::atomic<int>::is_always_lock_free, "signal handlers may use no locks");

struct EndingSignal {
  int number;
  std::string_view line;
};

constexpr EndingSignal kEndingSignals[] = {
    {SIGINT, "packsim: interrupted (SIGINT); every file is whole, or as it was before\n"},
    {SIGTERM, "packsim: terminated (SIGTERM); every file is whole, or as it was before\n"},
    {SIGHUP, "packsim: hung up (SIGHUP); every file is whole, or as it was before\n"}};

// Calls only what a signal handler may call.
void say(std::string_view line) {
  constexpr std::string_view kClearLine = "\r\x1b[K";  // of the progress
  const auto write = [](std::string_view text) {
    // Whoever does not read it is told by the exit code.
    [[maybe_unused]] const auto n = ::write(STDERR_FILENO, text.data(), text.size());
  };
  if (isatty(STDERR_FILENO) == 1) write(kClearLine);
  write(line);
}

[[noreturn]] void end_by(int signal) {
  for (const EndingSignal& ending : kEndingSignals) {
    if (ending.number == signal) say(ending.line);
  }
  _exit(128 + signal);
}

void end_if_nothing_is_written(int signal) {
  int none = 0;
  if (g_outputs.compare_exchange_strong(none, kEnding)) end_by(signal);
}

bool is_for_early_answer(int signal) {
  int may_be_asked = kMayBeAsked;
  return signal == SIGINT && g_early_answer.compare_exchange_strong(may_be_asked, kIsAsked);
}

void on_signal(int signal) {
  if (is_for_early_answer(signal)) {
    constexpr std::string_view kLine =
        "packsim: interrupted (SIGINT); what is known by now follows, unless a second SIGINT ends the "
        "program\n";
    say(kLine);
    return;
  }
  int none = 0;
  if (!g_signal.compare_exchange_strong(none, signal)) {
    constexpr std::string_view kLine =
        "packsim: stopped while writing; some files may be those of the run before\n";
    [[maybe_unused]] const auto n = ::write(STDERR_FILENO, kLine.data(), kLine.size());
    _exit(128 + signal);
  }
  end_if_nothing_is_written(signal);
}

}  // namespace

void end_at_interrupts() {
  for (const EndingSignal& ending : kEndingSignals) {
    struct sigaction before {};
    sigaction(ending.number, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;  // a write that goes on is not to fail
    sigaction(ending.number, &action, nullptr);
  }
}

EarlyAnswer::EarlyAnswer() {
  g_early_answer = kMayBeAsked;
}

EarlyAnswer::~EarlyAnswer() {
  g_early_answer = kNoEarlyAnswer;
}

bool EarlyAnswer::is_asked() const {
  return g_early_answer == kIsAsked;
}

WholeOutputs::WholeOutputs() {
  int n = g_outputs.load();
  while (true) {
    if (n == kEnding) {
      pause();  // until the thread that handles the signal has ended the program
      n = g_outputs.load();
    } else if (g_outputs.compare_exchange_weak(n, n + 1)) {
      return;
    }
  }
}

WholeOutputs::~WholeOutputs() {
  --g_outputs;
  if (const int signal = g_signal.load(); signal != 0) end_if_nothing_is_written(signal);
}

}  // namespace packsim
