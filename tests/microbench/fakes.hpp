#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "calibration/microbench/core/runner.hpp"

namespace packsim::microbench {

/// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "packsim-microbench-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

inline std::vector<KernelCase> adamw_cases(int n) {
  std::vector<KernelCase> cases;
  for (int i = 1; i <= n; ++i) cases.push_back(KernelCase::parse("adamw parameters=" + std::to_string(i)));
  return cases;
}

/// A machine whose kernels take what the test says, by a clock that they move.
class FakeMachine : public Machine {
 public:
  std::function<double(const KernelCase&)> time_s = [](const KernelCase&) { return 1e-3; };
  std::map<std::string, std::string> unavailable;  // reason by case
  std::function<void(const KernelCase&)> before_prepare = [](const KernelCase&) {};
  std::optional<Health> reading;
  double clock_s = 0;
  int n_calls = 1;  // in a sample
  int n_prepared = 0;

  bool is_for_all_ranks(const KernelCase&) const override { return false; }
  Prepared prepare(const KernelCase& kernel) override {
    ++n_prepared;
    before_prepare(kernel);
    if (unavailable.contains(kernel.text())) throw Unavailable(unavailable.at(kernel.text()));
    Prepared prepared = {"fake", [this, kernel] {
                           const double call_s = time_s(kernel);
                           clock_s += call_s * n_calls;
                           return call_s;
                         }};
    if (n_calls > 1) prepared.details["calls_per_sample"] = std::to_string(n_calls);
    return prepared;
  }
  std::optional<Health> health() override { return reading; }

  Run run(MeasurementFile* file) {
    static Coordination alone;
    Run run;
    run.now_s = [this] { return clock_s; };
    run.stop_asked = [] { return false; };
    run.coordination = &alone;
    run.file = file;
    return run;
  }
};

}  // namespace packsim::microbench
