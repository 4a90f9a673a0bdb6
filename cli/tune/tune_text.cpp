#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/tune/tune_outcome.hpp"
#include "experiment/costs/warnings.hpp"
#include "files/text/printable.hpp"
#include "models/plan/plan_text.hpp"
#include "planning/tune/best_case.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/text_table.hpp"

namespace packsim {
namespace {

using formats_detail::capacity;
using formats_detail::gibibytes;
using formats_detail::grouped;
using formats_detail::text_table;

std::string packs_and_degree(std::int64_t pack_tokens, int sp_degree) {
  return fmt::format("{} at SP {}", capacity(pack_tokens), sp_degree);
}

std::string seconds(double s) {
  return fmt::format("{:.3f}", s);
}

// Behind the row of a case.
std::string remark(const TuneOutcome& outcome, const ProfiledCase& one) {
  const Tuning& tuning = outcome.tuning;
  if (!one.feasible()) return one.infeasible_reason;
  if (one == tuning.fastest) return "fastest of all";
  if (std::ranges::find(tuning.best, one) != tuning.best.end()) return "best of its length";
  return "";
}

// Remarks are text of any length, so they stand behind the aligned columns.
std::string case_table(const Scenario& scenario, const TuneOutcome& outcome) {
  std::vector<std::vector<std::string>> rows = {
      {"packs", "SP", "GC layers", "memory GiB", "step s", "tokens/s a GPU"}};
  std::vector<std::string> remarks = {""};
  for (const ProfiledCase& one : outcome.tuning.cases) {
    const bool runs = one.feasible();
    const bool has_layers = runs || one.peak_memory_bytes || !outcome.stopwatch.empty();
    rows.push_back({capacity(one.pack_tokens), fmt::format("{}", one.sequence.ulysses),
                    has_layers ? fmt::format("{}", one.gc_layers) : "-",
                    one.peak_memory_bytes ? gibibytes(*one.peak_memory_bytes) : "-",
                    runs ? seconds(*one.step_s) : "-",
                    runs ? fmt::format("{:.0f}", tokens_per_gpu_second(scenario, one)) : "-"});
    remarks.push_back(remark(outcome, one));
  }
  std::istringstream lines(text_table(rows));
  std::string table;
  std::size_t i = 0;
  for (std::string line; std::getline(lines, line); ++i)
    table += line + (remarks[i].empty() ? "" : "  " + remarks[i]) + "\n";
  return table;
}

std::string role_text(const Tuning& tuning, LengthRole role) {
  const auto of_gpu = [](const ProfiledCase& whole) {
    return fmt::format("what one GPU holds of {}",
                       packs_and_degree(whole.pack_tokens, whole.sequence.ulysses));
  };
  switch (role) {
    case LengthRole::gpu_of_fastest:
      return of_gpu(*tuning.fastest);
    case LengthRole::fastest:
      return "the fastest length";
    case LengthRole::gpu_of_longest:
      return of_gpu(tuning.best.back());
    case LengthRole::longest:
      return "the longest, which holds every sample";
  }
  return "";
}

std::string group_text(const Tuning& tuning, const TunedGroup& group) {
  std::string reasons;
  for (const LengthRole role : group.roles) {
    // A whole pack on one GPU: that the GPU holds it is no reason of its own.
    const bool of_gpu = role == LengthRole::gpu_of_fastest || role == LengthRole::gpu_of_longest;
    const bool is_whole = of_gpu && group.roles.size() > 1;
    if (!is_whole) reasons += (reasons.empty() ? "" : "; ") + role_text(tuning, role);
  }
  std::string text =
      fmt::format("  {}, {} checkpointed layers: {}\n",
                  packs_and_degree(group.pack_tokens, group.sequence.ulysses), group.gc_layers, reasons);
  if (!group.step_s)
    text += "    not profiled; the layers are those of the longer pack, with as many tokens on a GPU\n";
  return text;
}

std::string left_out_text(const Tuning& tuning, const LeftOutLength& left_out) {
  const std::string what = fmt::format("  no group of {} ({})", capacity(left_out.listed.pack_tokens),
                                       role_text(tuning, left_out.listed.role));
  if (left_out.reason == LeftOutLength::Reason::cannot_run) return what + ": it cannot run at SP 1\n";
  return what + fmt::format(": not over the fastest length, {}\n", capacity(tuning.fastest->pack_tokens));
}

std::string tie_text(const ProfiledCase& best, const ProfiledCase& other) {
  return fmt::format("  {}: {} s against {} s of {}, which saves {:.2f} %",
                     packs_and_degree(other.pack_tokens, other.sequence.ulysses), seconds(*other.step_s),
                     seconds(*best.step_s), packs_and_degree(best.pack_tokens, best.sequence.ulysses),
                     100 * saved_fraction(best, other));
}

std::string ties_text(const TuneOutcome& outcome) {
  const Tuning& tuning = outcome.tuning;
  std::string text;
  for (const TiedLength& tied : tuning.tied_lengths) {
    std::string lengths;
    for (const std::int64_t length : tied.group_lengths_tokens)
      lengths += (lengths.empty() ? "" : ", ") + capacity(length);
    text += tie_text(*tuning.fastest, tied.best) + fmt::format("; it would give groups of {}\n", lengths);
  }
  for (const TunedGroup& group : tuning.groups) {
    const ProfiledCase best{.pack_tokens = group.pack_tokens,
                            .sequence = {.ulysses = group.sequence.ulysses},
                            .gc_layers = group.gc_layers,
                            .step_s = group.step_s};
    for (const ProfiledCase& other : group.tied) text += tie_text(best, other) + "\n";
  }
  const double percent = 100 * outcome.request.near_tie_fraction;
  if (text.empty())
    return fmt::format("\nNo near ties: every other choice is over {:.3g} % slower.\n", percent);
  return fmt::format("\nNear ties, which the best saves at most {:.3g} % of:\n", percent) + text;
}

// What the search found, which simulates the whole run instead of packs of one length.
std::string search_text(const TuneOutcome& outcome) {
  if (!outcome.search || !outcome.search->usual) return "";
  const PlanSearch& search = *outcome.search;
  std::string text = fmt::format(
      "\nSimulated with its data, the run takes {:.3g} GPU-days with these groups.", search.usual->gpu_days);
  if (search.chosen.groups == search.usual->groups)
    return text + fmt::format(" None of {} other sets of groups takes less.\n", search.n_candidates - 1);
  std::string groups;
  for (const SearchedGroup& group : search.chosen.groups) {
    groups += (groups.empty() ? "" : "; ") + fmt::format("{} at {}", capacity(group.capacity_tokens),
                                                         degrees_text(plan_of_group({}, group)));
  }
  return text + fmt::format("\nThe best of {} sets of groups takes {:.3g} ({:+.1f} %): {}\n",
                            search.n_candidates, search.chosen.gpu_days,
                            100 * (search.chosen.gpu_days / search.usual->gpu_days - 1), groups);
}

std::string source_text(const Scenario& scenario, const TuneOutcome& outcome) {
  if (!outcome.stopwatch.empty()) return "timed steps of " + printable(outcome.stopwatch);
  const std::optional<std::string> what_if = what_if_warning(scenario);
  return fmt::format("simulated with profile {}: {} iterations of ISF packs, {}, seed {}{}",
                     scenario.profile.name, outcome.n_iterations, outcome.order, scenario.seed,
                     what_if ? "\nWARNING " + *what_if : "");
}

}  // namespace

double tokens_per_gpu_second(const Scenario& scenario, const ProfiledCase& one) {
  return static_cast<double>(scenario.training.tokens_per_iteration) /
         (*one.step_s * scenario.cluster.n_gpus());
}

std::string tune_text(const Scenario& scenario, const TuneOutcome& outcome) {
  const Tuning& tuning = outcome.tuning;
  std::string text =
      fmt::format("{}: {} on {} GPUs, {} tokens an iteration\n{}\n\n", printable_name(scenario.name),
                  scenario.model.name, scenario.cluster.n_gpus(),
                  grouped(scenario.training.tokens_per_iteration), source_text(scenario, outcome));
  text += case_table(scenario, outcome);
  for (const FewerLayers& fewer : outcome.fewer_layers)
    text += fmt::format("{}: timed memory leaves room for {} checkpointed layers instead of {}: time that\n",
                        packs_and_degree(fewer.pack_tokens, fewer.sequence.ulysses), fewer.gc_layers,
                        fewer.profiled_gc_layers);
  if (tuning.groups.empty()) {
    return text + fmt::format("\nNo groups: packs of {}, the longest, cannot run at any SP degree.\n",
                              capacity(outcome.request.lengths_tokens.back()));
  }
  text += "\nGroups:\n";
  for (const TunedGroup& group : tuning.groups) text += group_text(tuning, group);
  for (const LeftOutLength& left_out : tuning.left_out) text += left_out_text(tuning, left_out);
  const std::vector<std::int64_t>& lengths = outcome.request.lengths_tokens;
  if (lengths.size() > 1 && tuning.fastest->pack_tokens == lengths.front())
    text += "  the fastest length is the shortest candidate: shorter ones may be faster still (--lengths)\n";
  return text + ties_text(outcome) + search_text(outcome);
}

}  // namespace packsim
