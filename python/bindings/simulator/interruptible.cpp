#include "python/bindings/simulator/interruptible.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace packsim::python {
namespace {

constexpr std::chrono::milliseconds kLookForSignals{100};

// What ends the work. No std::exception: nothing on the way is to take it for a failure of one strategy.
struct Ended {};

class Work {
 public:
  Work(bool is_heard, const std::function<void(const Tell&)>& work) : is_heard_(is_heard), work_(work) {}

  // The work's thread runs this.
  void run() {
    try {
      work_([this](Told told) { tell(std::move(told)); });
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    news_.notify_one();
  }

  // The calling thread runs this. Returns what was told since the last time, after at most kLookForSignals,
  // and whether the work goes on.
  std::pair<std::deque<Told>, bool> wait() {
    std::unique_lock lock(mutex_);
    news_.wait_for(lock, kLookForSignals, [&] { return is_done_ || !told_.empty(); });
    return {std::exchange(told_, {}), !is_done_};
  }

  void end() { is_to_end_ = true; }

  // The work must be done.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void tell(Told told) {
    if (is_to_end_) throw Ended();
    if (!is_heard_ || !told) return;
    const std::lock_guard lock(mutex_);
    told_.push_back(std::move(told));
    news_.notify_one();
  }

  const bool is_heard_;
  const std::function<void(const Tell&)>& work_;
  std::atomic<bool> is_to_end_{false};
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<Told> told_;
  bool is_done_ = false;
  std::exception_ptr failure_;
};

// Whether Python has something to raise.
bool listen(const py::object& progress, const std::deque<Told>& told) {
  const py::gil_scoped_acquire lock;
  try {
    for (const Told& arguments : told) progress(*arguments());
  } catch (py::error_already_set& error) {
    error.restore();
    return true;
  }
  return PyErr_CheckSignals() != 0;
}

py::tuple text_of(const std::string& what) {
  const auto text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(what.data(), static_cast<Py_ssize_t>(what.size()), "replace"));
  if (!text) throw py::error_already_set();
  return py::make_tuple(text);
}

}  // namespace

void run_telling(const py::object& progress, const std::function<void(const Tell&)>& function) {
  const auto work = std::make_shared<Work>(!progress.is_none(), function);
  bool has_error = false;
  {
    const py::gil_scoped_release others_may_run;
    // Nobody waits for the thread's own end, where memory goes back to the system: 2 to 14 ms for 30 MB.
    std::thread([work] { work->run(); }).detach();
    for (bool goes_on = true; goes_on;) {
      auto [told, still] = work->wait();
      goes_on = still;
      if (has_error || (!still && told.empty())) continue;
      has_error = listen(progress, told);
      if (has_error) work->end();
    }
  }
  if (has_error) throw py::error_already_set();
  work->rethrow();
}

void run_interruptibly(const py::object& progress, const std::function<void(const Say&)>& work) {
  run_telling(progress, [&](const Tell& tell) {
    work([&](const std::string& what) { tell([what] { return text_of(what); }); });
  });
}

}  // namespace packsim::python
