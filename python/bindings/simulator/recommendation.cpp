#include "recommend/recommend.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "files/version.hpp"
#include "python/bindings/simulator/bindings.hpp"
#include "python/bindings/simulator/interruptible.hpp"
#include "python/bindings/simulator/scenario_source.hpp"
#include "recommend/recommendation_text.hpp"
#include "recommend/sensitivity.hpp"
#include "reports/settings/trainer_settings.hpp"
#include "scenarios/loader/lengths/with_lengths.hpp"

namespace packsim::python {
namespace {

using Offers = std::vector<std::pair<std::string, std::optional<double>>>;

// What trainers are told of the best run, by file; and the settings that put the scenario on its cluster.
using Answer = std::tuple<std::string, std::vector<std::pair<std::string, std::string>>, Settings>;

Answer answer_of(const std::function<Scenario(const Settings&)>& load, const Recommendation& found,
                 const std::vector<Sensitivity>& sensitivities, const DataPaths& data) {
  Answer answer{recommendation_json(found, sensitivities, build_version()), {}, {}};
  if (found.ranking.empty()) return answer;
  const Candidate& best = found.candidates[found.ranking.front()];
  auto& [json, files, settings] = answer;
  settings = settings_of(found.question.offers[best.offer], best.nodes);
  for (const StrategyResult& run : found.report.runs) {
    if (run.name != best.strategy) continue;
    const Scenario scenario = load(settings);
    files = all_settings(scenario, trainer_job(found.report.manifest, run, scenario.model, best.nodes), data);
  }
  return answer;
}

Answer recommend_cluster(const std::string& text_or_path, const std::string& name, const Settings& settings,
                         const std::string& library, const std::optional<NamedArrays>& lengths,
                         const Offers& offers, const std::vector<int>& node_counts,
                         std::optional<int> most_gpus, std::optional<double> deadline_hours,
                         std::optional<double> budget, bool fastest, bool simulates_all,
                         bool says_sensitivity, std::optional<double> time_limit_s, int n_threads,
                         const py::object& progress) {
  const DataPaths data = data_paths(library);
  const std::vector<LengthSource> given = sources_of(lengths);
  const auto load = [&](const Settings& more) {
    Settings all = settings;
    all.insert(all.end(), more.begin(), more.end());
    const Scenario scenario = read_scenario(text_or_path, name, all, data, MistakenStrategies::leave_out);
    return given.empty() ? scenario : with_sources(scenario, given);
  };
  Question question{.offers = {},
                    .node_counts = node_counts.empty() ? usual_node_counts() : node_counts,
                    .limits = {.most_gpus = most_gpus, .deadline_hours = deadline_hours, .budget = budget},
                    .goal = fastest ? Goal::fastest : Goal::cheapest,
                    .simulates_all = simulates_all};
  for (const auto& [type, price] : offers) question.offers.push_back({.type = type, .gpu_hour_price = price});
  Answer answer;
  run_interruptibly(progress, [&](const Say& say) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    const RecommendOptions options{
        .n_threads = n_threads,
        .progress = say,
        .is_over =
            [&] {
              return time_limit_s &&
                     std::chrono::duration<double>(Clock::now() - start).count() >= *time_limit_s;
            },
        .version = build_version(),
    };
    const Recommendation found = recommend(load, question, options);
    const auto sensitivities = says_sensitivity && found.is_complete ? sensitivity_of(load, found, options)
                                                                     : std::vector<Sensitivity>();
    answer = answer_of(load, found, sensitivities, data);
  });
  return answer;
}

}  // namespace

void add_recommendation(py::module_& module) {
  module.def("recommend", recommend_cluster);
}

}  // namespace packsim::python
