#include "models/coverage/measurement_list.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "models/coverage/list_cases.hpp"
#include "models/coverage/order_by_value.hpp"
#include "models/kernels/rough_time.hpp"

namespace packsim {
namespace {

struct ListLimits {
  int most_level = 0;
  double one_gpu_s = 0;  // of all cases, with time to start and to spare
  double one_case_s = 0;
};

ListLimits limits_of(MeasurementListSize size) {
  if (size == MeasurementListSize::quick) return {.most_level = 2, .one_gpu_s = 150, .one_case_s = 1.5};
  return {.most_level = 5, .one_gpu_s = 1450, .one_case_s = 6};
}

bool needs_several_gpus(const KernelCase& kernel) {
  return kernel.kernel() == "collective" || kernel.kernel() == "overlap";
}

void expect_at_least_1(const std::string& name, std::int64_t value) {
  if (value < 1) throw std::invalid_argument(name + ": expected at least 1, got " + std::to_string(value));
}

void add_comment(std::string& text, const std::string& comment) {
  for (std::size_t start = 0; start < comment.size();) {
    const std::size_t end = std::min(comment.find('\n', start), comment.size());
    text += end == start ? "#" : "# ";
    text += comment.substr(start, end - start) + "\n";
    start = end + 1;
  }
}

std::string name_of_round(int round) {
  if (round == 0) return "";
  return round == 1 ? ": the other ends" : round == 2 ? ": the middles" : ": in between";
}

std::string rounded(double seconds) {
  return std::to_string(std::llround(std::ceil(seconds)));
}

}  // namespace

Documents drawn_pack(const LengthSet& set, std::int64_t capacity_tokens, double fraction) {
  constexpr std::size_t kMostTries = 1000;
  const std::size_t n = set.lengths_tokens.size();
  Documents documents;
  std::int64_t left = capacity_tokens;
  const auto first = static_cast<std::size_t>(fraction * static_cast<double>(n));
  for (std::size_t i = 0; i < std::min(n, kMostTries) && left > 0; ++i) {
    const std::int64_t length = set.lengths_tokens[(first + i) % n];
    if (length < 1 || length > left) continue;
    documents.runs.push_back({1, length});
    left -= length;
  }
  // Neighbours of one length become one run.
  return documents.runs.empty() ? documents : parse_documents(format_documents(documents));
}

MeasurementList measurement_list(std::span<const Transformer> models, const MeasurementListOptions& options) {
  expect_at_least_1("models", static_cast<std::int64_t>(models.size()));
  expect_at_least_1("n_gpus", options.n_gpus);
  expect_at_least_1("gpus_per_node", options.gpus_per_node);
  std::vector<Transformer> by_size(models.begin(), models.end());
  std::ranges::stable_sort(by_size, std::ranges::less(), &Transformer::parameters);

  const ListLimits limits = limits_of(options.size);
  constexpr double kUsableMemory = 0.6;
  std::vector<ListedCase> all;
  const AddCase add = [&](int level, const std::string& section, const KernelCase& kernel) {
    const double estimated_s = rough_measuring_s(kernel);
    if (level <= limits.most_level) all.push_back({kernel, section, level, 0, estimated_s});
  };
  list_launch_gap(add);
  list_gemms(by_size, add);
  list_attention(by_size, options.length_sets, add);
  list_elementwise(by_size, add);
  list_adamw(add);
  list_copies(add);
  list_collectives(by_size, options.n_gpus, options.gpus_per_node, add);
  std::ranges::stable_sort(all, std::ranges::less(), &ListedCase::level);

  std::set<std::string> seen;
  std::erase_if(all, [&](const ListedCase& listed) { return !seen.insert(listed.kernel.text()).second; });
  order_by_value(all);
  MeasurementList plan;
  for (const ListedCase& planned : all) {
    const bool several = needs_several_gpus(planned.kernel);
    double& total_s = several ? plan.collectives_s : plan.one_gpu_s;
    if (rough_memory_bytes(planned.kernel) > kUsableMemory * options.gpu_memory_bytes) {
      ++plan.over_memory;
    } else if (planned.estimated_s > limits.one_case_s ||
               (!several && total_s + planned.estimated_s > limits.one_gpu_s)) {
      ++plan.over_budget;
    } else {
      total_s += planned.estimated_s;
      plan.cases.push_back(planned);
    }
  }
  return plan;
}

std::string measurement_list_text(const MeasurementList& plan, const std::string& header) {
  std::string text;
  add_comment(text, header);
  add_comment(
      text, std::to_string(plan.cases.size()) + " cases; about " + rounded(plan.one_gpu_s) + " s on one GPU" +
                (plan.collectives_s > 0 ? ", and " + rounded(plan.collectives_s) + " s for what takes several"
                                        : std::string()) +
                ".");
  add_comment(text,
              "The most useful first: a run that ends early has covered every kernel, of each curve one end, "
              "the other, and then the middles.");
  for (std::size_t start = 0; start < plan.cases.size();) {
    const std::string& section = plan.cases[start].section;
    std::size_t end = start;
    while (end < plan.cases.size() && plan.cases[end].section == section &&
           plan.cases[end].level == plan.cases[start].level &&
           plan.cases[end].round == plan.cases[start].round)
      ++end;
    text += "\n";
    add_comment(text, section + name_of_round(plan.cases[start].round));
    for (; start < end; ++start) text += plan.cases[start].kernel.text() + "\n";
  }
  return text;
}

std::string measurement_list_text(std::span<const KernelCase> cases, const std::string& header) {
  std::string text;
  add_comment(text, header);
  for (const KernelCase& kernel : cases) text += kernel.text() + "\n";
  return text;
}

}  // namespace packsim
