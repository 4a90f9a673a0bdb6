#include "packing/planner/sorted_packs.hpp"

#include <algorithm>

#include "packing/planner/never.hpp"

namespace packsim {
namespace {

// Packs of one length on blocks of one degree.
struct Form {
  std::size_t degree = 0;
  int n_rounds = 1;  // of an iteration
  std::int64_t capacity_tokens = 0;
};

class Former {
 public:
  Former(const BatchProblem& problem, const DegreeCosts& costs)
      : problem_(problem),
        setting_(problem.setting),
        costs_(costs),
        gpu_tokens_(problem.setting.tokens_per_iteration / problem.setting.n_gpus) {
    for (const std::int32_t length : problem.items.lengths_tokens) {
      if (!problem.items.skips(length)) longest_ = std::max<std::int64_t>(longest_, length);
    }
  }

  std::vector<ComposedIteration> best() const {
    std::vector<ComposedIteration> best;
    double best_s = kNever;
    for (const std::vector<Form>& forms : choices()) {
      // Best fit packs long samples better.
      for (const std::string_view packer : {"isf", "bfd"}) {
        std::vector<ComposedIteration> iterations = form(forms, packer);
        double total_s = static_cast<double>(iterations.size()) * setting_.step_s;
        for (const ComposedIteration& iteration : iterations) total_s += iteration.time_s;
        if (iterations.empty() || total_s >= best_s) continue;
        best_s = total_s;
        best = std::move(iterations);
      }
    }
    return best;
  }

 private:
  // Where a pipeline has to be filled, more and smaller packs.
  std::vector<Form> forms_of(std::size_t degree) const {
    std::vector<Form> forms;
    const int most = setting_.rounds.fill_rounds > 0 ? 64 : 1;
    for (int n = setting_.rounds.multiple; n <= most * setting_.rounds.multiple; n *= 2) {
      const std::int64_t capacity =
          std::min(costs_.most_tokens(degree), gpu_tokens_ * costs_.gpus_per_pack(degree) / n);
      if (capacity > 0) forms.push_back({degree, n, capacity});
    }
    return forms;
  }

  // Every degree whose packs hold the longest sample; the smallest of these with shorter packs of the first
  // degree too.
  std::vector<std::vector<Form>> choices() const {
    std::vector<std::vector<Form>> choices;
    bool is_first = true;
    for (std::size_t d = 0; d < costs_.n_degrees(); ++d) {
      const bool is_smallest = is_first;
      for (const Form& wide : forms_of(d)) {
        if (wide.capacity_tokens < longest_) continue;
        is_first = false;
        choices.push_back({wide});
        if (d == 0 || !is_smallest) continue;
        for (const Form& narrow : forms_of(0)) {
          if (narrow.capacity_tokens < wide.capacity_tokens) choices.push_back({narrow, wide});
        }
      }
    }
    return choices;
  }

  // None where a whole round of packs is missing that the setting wants.
  std::vector<ComposedIteration> form(const std::vector<Form>& forms, std::string_view packer) const {
    std::vector<std::int64_t> capacities;
    for (const Form& form : forms) capacities.push_back(form.capacity_tokens);
    PackProblem items = problem_.items;
    items.capacity_tokens = capacities.back();
    items.options.set("packer", std::string(packer));
    const std::vector<PackSet> groups = find_strategy("hbp")->pack_groups(items, capacities);
    std::vector<ComposedIteration> iterations;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (!append(groups[g], forms[g], iterations)) return {};
    }
    return iterations;
  }

  bool append(const PackSet& packs, const Form& form, std::vector<ComposedIteration>& iterations) const {
    const int gpus = costs_.gpus_per_pack(form.degree);
    std::vector<std::pair<double, std::size_t>> sorted;
    std::vector<std::int32_t> lengths;
    for (std::size_t p = 0; p < packs.n_packs(); ++p) {
      lengths.clear();
      for (const ItemIndex item : packs[p]) lengths.push_back(problem_.items.lengths_tokens[item]);
      sorted.emplace_back(costs_.pack_s(form.degree, lengths), p);
    }
    std::ranges::sort(sorted);
    const auto n_ranks = static_cast<std::size_t>(setting_.n_gpus / gpus);
    const std::size_t n_in_iteration = n_ranks * static_cast<std::size_t>(form.n_rounds);
    if (setting_.rounds.multiple > 1 && sorted.size() % n_in_iteration != 0) return false;
    for (std::size_t first = 0; first < sorted.size(); first += n_in_iteration) {
      ComposedIteration& iteration = iterations.emplace_back();
      const std::size_t n = std::min(n_in_iteration, sorted.size() - first);
      for (std::size_t i = 0; i < n; ++i) {
        const auto [time_s, p] = sorted[first + i];
        iteration.packs.push_back({.degree = form.degree,
                                   .first_gpu = static_cast<int>(i % n_ranks) * gpus,
                                   .round = static_cast<int>(i / n_ranks),
                                   .time_s = time_s,
                                   .items = {packs[p].begin(), packs[p].end()}});
        // Its last pack is a round's longest.
        if (i % n_ranks == n_ranks - 1 || i == n - 1) iteration.time_s += time_s;
        iteration.gpu_s += gpus * time_s;
      }
      const std::size_t n_rounds = (n + n_ranks - 1) / n_ranks;
      iteration.time_s *= 1 + setting_.rounds.fill_rounds / static_cast<double>(n_rounds);
    }
    return true;
  }

  const BatchProblem& problem_;
  const BatchSetting& setting_;
  const DegreeCosts& costs_;
  std::int64_t gpu_tokens_ = 0;  // of an iteration
  std::int64_t longest_ = 0;
};

}  // namespace

std::vector<ComposedIteration> sorted_packs(const BatchProblem& problem, const DegreeCosts& costs) {
  return Former(problem, costs).best();
}

}  // namespace packsim
