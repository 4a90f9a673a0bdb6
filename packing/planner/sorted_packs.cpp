#include "packing/planner/sorted_packs.hpp"

#include <algorithm>

#include "packing/algorithms/never.hpp"

namespace packsim {
namespace {

// Packs of one length on blocks of one degree.
struct Form {
  std::size_t degree = 0;
  int n_rounds = 1;  // of an iteration
  std::int64_t capacity_tokens = 0;
};

// Lower bound of the GPU time that a document adds to packs of a form. A pack takes at least its tokens times
// the least time per token of its group, and the time of each of its documents.
class FormFloor {
 public:
  FormFloor(const BatchSetting& setting, const DegreeCosts& costs, const Form& form)
      : costs_(costs),
        capacity_tokens_(form.capacity_tokens),
        factor_(costs.gpus_per_pack(form.degree) * (1 + setting.rounds.fill_rounds / form.n_rounds)) {
    std::int64_t fewest_tokens = 1;
    for (const DegreeCosts::Group& group : costs.groups(form.degree)) {
      const std::int64_t most_tokens = std::min(group.capacity_tokens, form.capacity_tokens);
      if (fewest_tokens > most_tokens) continue;
      const CostCurve& curve = setting.groups[group.index].cost.tokens_s;
      groups_.push_back({group, least_s_per_token(curve, fewest_tokens, most_tokens)});
      fewest_tokens = group.capacity_tokens + 1;
    }
  }

  // Infinite if no pack of the form can hold it.
  double gpu_s(std::int64_t length_tokens) const {
    double least_s = kNever;
    if (length_tokens > capacity_tokens_) return least_s;
    for (const auto& [group, s_per_token] : groups_) {
      if (group.capacity_tokens < length_tokens) continue;
      const double tokens_s = static_cast<double>(length_tokens) * s_per_token;
      least_s = std::min(least_s, tokens_s + costs_.document_once_s(group.index, length_tokens));
    }
    return factor_ * least_s;
  }

 private:
  // The time per token on a straight line is least at one of its ends.
  static double least_s_per_token(const CostCurve& curve, std::int64_t fewest_tokens,
                                  std::int64_t most_tokens) {
    double least = kNever;
    const auto try_tokens = [&](std::int64_t tokens) {
      if (tokens >= fewest_tokens && tokens <= most_tokens)
        least = std::min(least, curve.at(tokens) / static_cast<double>(tokens));
    };
    try_tokens(fewest_tokens);
    try_tokens(most_tokens);
    std::ranges::for_each(curve.tokens, try_tokens);
    return least;
  }

  struct Group {
    DegreeCosts::Group group;
    double s_per_token = 0;  // the least of all packs of the form
  };
  const DegreeCosts& costs_;
  std::int64_t capacity_tokens_;
  double factor_;
  std::vector<Group> groups_;
};

class Former {
 public:
  Former(const BatchProblem& problem, const DegreeCosts& costs)
      : problem_(problem),
        setting_(problem.setting),
        costs_(costs),
        gpu_tokens_(problem.setting.tokens_per_iteration / problem.setting.n_gpus) {
    for (const std::int32_t length : problem.items.lengths_tokens) {
      if (problem.items.skips(length)) continue;
      const auto index = static_cast<std::size_t>(length);
      if (index >= n_of_length_.size()) n_of_length_.resize(index + 1);
      ++n_of_length_[index];
    }
    longest_ = std::max<std::int64_t>(std::ssize(n_of_length_) - 1, 0);
  }

  // limit_s: what other iterations take in total.
  std::vector<ComposedIteration> best(double limit_s) const {
    constexpr double kRounding = 1e-9;
    std::vector<ComposedIteration> best;
    double best_s = limit_s * (1 + kRounding);
    for (const std::vector<Form>& forms : choices()) {
      if (least_s(forms) * (1 - kRounding) >= best_s) continue;
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
  // Lower bound of the total time of iterations of such packs.
  double least_s(const std::vector<Form>& forms) const {
    // More iterations than needed would take less time, or packs without tokens could take any time.
    if (setting_.step_s < 0 || setting_.rounds.fill_rounds < 0 || n_of_length_.empty() || n_of_length_[0] > 0)
      return 0;
    std::vector<FormFloor> floors;
    for (const Form& form : forms) floors.emplace_back(setting_, costs_, form);
    double gpu_s = 0;
    double tokens = 0;
    for (std::size_t length = 0; length < n_of_length_.size(); ++length) {
      if (n_of_length_[length] == 0) continue;
      double least_s = kNever;
      for (const FormFloor& floor : floors)
        least_s = std::min(least_s, floor.gpu_s(static_cast<std::int64_t>(length)));
      gpu_s += static_cast<double>(n_of_length_[length]) * least_s;
      tokens += static_cast<double>(n_of_length_[length]) * static_cast<double>(length);
    }
    return gpu_s / setting_.n_gpus +
           setting_.step_s * tokens / static_cast<double>(setting_.tokens_per_iteration);
  }

  // The forms of packs of a degree: more and smaller ones if a pipeline has to be filled.
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

  // The iterations of these packs; empty if the setting wants whole rounds and one lacks packs.
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
  std::vector<std::uint32_t> n_of_length_;  // [longest length + 1]
};

}  // namespace

std::vector<ComposedIteration> sorted_packs(const BatchProblem& problem, const DegreeCosts& costs,
                                            double limit_s) {
  return Former(problem, costs).best(limit_s);
}

}  // namespace packsim
