#include "calibration/microbench/core/runner.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "calibration/microbench/core/json_line.hpp"
#include "calibration/microbench/core/progress.hpp"
#include "calibration/microbench/core/watchdog.hpp"
#include "files/text/printable.hpp"

namespace packsim::microbench {
namespace {

constexpr double kHealthEvery_s = 0.02;  // NVML takes a millisecond, and its figures change no faster
constexpr double kPatienceOfOthers = 1.25;
constexpr std::string_view kFailed = "the GPU failed: ";
constexpr std::string_view kBrokenOff = "an earlier run ended in the middle of it (crash, hang or kill)";

double calls_per_sample(const Prepared& prepared) {
  const auto at = prepared.details.find("calls_per_sample");
  return at == prepared.details.end() ? 1 : std::stod(at->second);
}

/// One case at a time, on one rank.
class CaseRunner {
 public:
  CaseRunner(Machine& machine, const Run& run, RunSummary& summary)
      : machine_(machine), run_(run), summary_(summary), start_s_(run.now_s()) {}

  bool is_first() const { return run_.coordination->rank() == 0; }
  double elapsed_s() const { return run_.now_s() - start_s_; }
  bool budget_is_spent() const { return run_.budget_s > 0 && elapsed_s() >= run_.budget_s; }

  // What happened, for the progress; empty where the run was told to stop in the middle of the case.
  std::string run_case(const KernelCase& kernel) {
    const bool all = machine_.is_for_all_ranks(kernel);
    if (!all && !is_first()) return "left to rank 0";
    write(format_began(kernel.text()));
    try {
      std::string reason;
      Prepared prepared;
      try {
        prepared = machine_.prepare(kernel);
      } catch (const Unavailable& unavailable) {
        reason = unavailable.what();
      }
      const double problem = reason.empty() ? 0 : 1;
      if ((all ? run_.coordination->largest(problem) : problem) > 0) {
        return skip(kernel, reason.empty() ? "another process of the run cannot run it" : reason);
      }
      return measure(kernel, prepared, all);
    } catch (const std::runtime_error& error) {
      if (is_writing_) throw;
      // Where several processes take part, it may be one of them that is gone, which says nothing of the
      // case: the end of the run says that it has not crashed.
      const bool is_of_case = !all || run_.coordination->n_ranks() == 1;
      if (is_of_case) skip(kernel, std::string(kFailed) + error.what());
      if (!is_of_case) write(format_end(false));
      throw std::runtime_error(kernel.text() + ": " + error.what());
    }
  }

  // Why the case is passed by, as the GPU failed at it in an earlier run; empty where it did not.
  std::string failed_before(const std::string& kernel) const {
    if (run_.file == nullptr || run_.retry_failed) return "";
    if (run_.file->broken_off() == kernel) return std::string(kFailed) + std::string(kBrokenOff);
    const std::string reason = run_.file->skip_reason(kernel);
    return reason.starts_with(kFailed) ? reason : "";
  }

  // This comes before anything else begins, as the file has room for one case that began and has no end.
  void pass_by_broken_off() {
    if (run_.file == nullptr || run_.file->broken_off().empty()) return;
    const std::string& kernel = run_.file->broken_off();
    write(format_skipped(kernel, std::string(kFailed) + std::string(kBrokenOff)));
    if (run_.progress == nullptr) return;
    *run_.progress << printable(kernel) << ": " << kBrokenOff
                   << (run_.retry_failed ? "; it is measured again\n"
                                         : "; it is passed by, and --retry-failed measures it again\n");
  }

  void write(const std::string& line) {
    if (run_.file == nullptr) return;
    is_writing_ = true;
    run_.file->append(line);
    is_writing_ = false;
  }

 private:
  std::string skip(const KernelCase& kernel, const std::string& reason) {
    ++summary_.skipped[reason];
    // A failure is written again where it was retried: else the file would say that the run crashed.
    if (run_.file != nullptr &&
        (run_.file->skip_reason(kernel.text()) != reason || reason.starts_with(kFailed)))
      write(format_skipped(kernel.text(), reason));
    return "skipped: " + reason;
  }

  // One sample, the slowest rank's.
  double sample_s(const Prepared& prepared, bool all) {
    const double mine_s = prepared.time_once_s();
    const double time_s = all ? run_.coordination->largest(mine_s) : mine_s;
    if (!std::isfinite(time_s) || time_s <= 0)
      throw std::runtime_error("expected a time above 0 s, measured " + json_number(time_s));
    return time_s;
  }

  bool goes_on(bool mine, bool all) { return all ? run_.coordination->first_decides(mine) : mine; }

  double left_s() const { return std::max(run_.budget_s - elapsed_s(), 0.0); }

  struct Warmup {
    std::size_t n_samples = 0;  // that do not count
    bool is_cut = false;        // by the budget
  };

  // Runs until the clocks and caches are those of a long run.
  Warmup warm_up(const StoppingRule& rule, const Prepared& prepared, bool all) {
    const double start_s = run_.now_s();
    // What is left of the budget is worth more samples than a warm-up that leaves none.
    const double longest_s =
        run_.budget_s > 0 ? std::min(rule.longest_warmup_s, left_s() / 2) : rule.longest_warmup_s;
    const double n_calls = calls_per_sample(prepared);
    double worked_s = 0;
    std::vector<double> calls_s;
    bool is_cold = true;
    while (goes_on(is_cold && !run_.stop_asked(), all)) {
      calls_s.push_back(sample_s(prepared, all));
      worked_s += calls_s.back() * n_calls;
      is_cold = (worked_s < rule.warmup_s || !is_warm(calls_s)) && run_.now_s() - start_s < longest_s;
    }
    return {calls_s.size(), worked_s < rule.warmup_s && longest_s < rule.longest_warmup_s};
  }

  std::string measure(const KernelCase& kernel, const Prepared& prepared, bool all) {
    StoppingRule rule = run_.rule;
    const double warmup_start_s = run_.now_s();
    const Warmup warmup = warm_up(rule, prepared, all);
    if (run_.budget_s > 0) rule.longest_s = std::min(rule.longest_s, left_s());
    std::vector<double> samples_s;
    HealthRecord health;
    const double samples_start_s = run_.now_s();
    // Where the budget cut the warm-up short, the clocks are not yet those of the samples.
    double next_health_s = std::max(samples_start_s, warmup_start_s + rule.warmup_s);
    Verdict verdict = Verdict::go_on;
    bool stopped = run_.stop_asked();
    while (goes_on(verdict == Verdict::go_on && !stopped, all)) {
      samples_s.push_back(sample_s(prepared, all));
      if (run_.now_s() >= next_health_s) {
        if (const std::optional<Health> now = machine_.health()) health.add(*now);
        next_health_s = run_.now_s() + kHealthEvery_s;
      }
      verdict = judge(rule, samples_s, run_.now_s() - samples_start_s);
      stopped = run_.stop_asked();
    }
    // Where it was rank 0 that had enough, this rank's clock may say otherwise.
    if (!goes_on(verdict != Verdict::go_on, all)) return "";
    const bool is_time_cut = verdict == Verdict::noisy && rule.longest_s < run_.rule.longest_s &&
                             run_.now_s() - samples_start_s >= rule.longest_s;
    const bool is_cut = warmup.is_cut || is_time_cut;
    return record(kernel, prepared, samples_s, warmup.n_samples,
                  {.is_noisy = is_cut || verdict == Verdict::noisy, .is_cut = is_cut}, health);
  }

  struct Faults {
    bool is_noisy = false;
    bool is_cut = false;
  };

  std::string record(const KernelCase& kernel, const Prepared& prepared, const std::vector<double>& samples_s,
                     std::size_t n_warmup, Faults faults, const HealthRecord& health) {
    const bool is_throttled = health.is_throttled();
    MeasuredLine line{kernel.text(), prepared.library, samples_s, {}, {}};
    if (faults.is_noisy) line.flags.emplace_back("noisy");
    if (is_throttled) line.flags.emplace_back("throttled");
    if (faults.is_cut) line.flags.emplace_back(kCutFlag);
    if (!health.empty()) {
      const std::vector<double> clocks_mhz = {health.lowest_clock_mhz(), health.highest_clock_mhz()};
      line.details = {{"sm_clock_mhz", json_array(clocks_mhz)},
                      {"power_w", json_number(health.power_w())},
                      {"temperature_c", json_number(health.temperature_c())}};
      std::string reasons;
      for (const std::string& reason : health.slowed_by())
        reasons += (reasons.empty() ? "" : ", ") + json_text(reason);
      if (!reasons.empty()) line.details.emplace_back("slowed_by", "[" + reasons + "]");
    }
    const double noise = median_noise(samples_s);
    line.details.emplace_back("warmup", std::to_string(n_warmup));
    line.details.emplace_back("relative_noise", json_number(noise));
    for (const auto& [name, value] : prepared.details) line.details.emplace_back(name, json_text(value));
    write(format_line(line));
    summary_.n_cut += faults.is_cut;
    summary_.n_measured += !faults.is_cut;
    summary_.n_noisy += faults.is_noisy && !faults.is_cut;
    summary_.n_throttled += is_throttled && !faults.is_cut;
    return format_result(kernel, median(samples_s), noise, line.flags);
  }

  Machine& machine_;
  const Run& run_;
  RunSummary& summary_;
  double start_s_;
  bool is_writing_ = false;  // a failure of the disk is none of the GPU's
};

}  // namespace

std::size_t RunSummary::n_left() const {
  std::size_t n = n_in_file + n_measured;
  for (const auto& [reason, count] : skipped) n += count;
  return n_cases - n;
}

RunSummary run_cases(const std::vector<KernelCase>& cases, Machine& machine, const Run& run) {
  RunSummary summary;
  summary.n_cases = cases.size();
  CaseRunner runner(machine, run, summary);
  Progress progress(run.progress, cases.size(), run.budget_s);
  // Rank 0 ends first: were it another, rank 0 would see a process that is gone, which says nothing of the
  // case, and the next start would hang again.
  Watchdog watchdog(run.case_timeout_s * (runner.is_first() ? 1 : kPatienceOfOthers));
  runner.pass_by_broken_off();
  for (const KernelCase& kernel : cases) {
    const bool stop = run.stop_asked();
    if (!run.coordination->first_decides(!stop && !runner.budget_is_spent())) {
      summary.ending = stop ? Ending::interrupted : Ending::budget_spent;
      break;
    }
    const std::string text = kernel.text();
    const bool in_file = run.file != nullptr && run.file->has_measured(text);
    const std::string failure = runner.failed_before(text);
    summary.n_in_file += in_file;
    if (!failure.empty() && !in_file) ++summary.skipped[failure];
    if (run.coordination->first_decides(in_file || !failure.empty())) {
      progress.pass_by();
      continue;
    }
    progress.start(text, runner.elapsed_s());
    watchdog.begin(text);
    const std::string result = runner.run_case(kernel);
    watchdog.end();
    progress.finish(result.empty() ? "interrupted" : result);
    if (result.empty()) {
      summary.ending = Ending::interrupted;
      break;
    }
  }
  if (summary.ending == Ending::complete && summary.n_cut > 0) summary.ending = Ending::budget_spent;
  // Readers see from the missing word "complete" that cases are missing; the budget is an interruption too.
  runner.write(format_end(summary.ending == Ending::complete));
  return summary;
}

}  // namespace packsim::microbench
