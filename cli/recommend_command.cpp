#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include "cli/commands.hpp"
#include "cli/shared/interrupts.hpp"
#include "cli/shared/moved_scenario.hpp"
#include "cli/shared/normaliser_option.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/scenario_argument.hpp"
#include "cli/shared/terminal.hpp"
#include "experiment/compare_strategies.hpp"
#include "files/text/printable.hpp"
#include "files/write_file.hpp"
#include "recommend/recommendation_points.hpp"
#include "recommend/recommendation_text.hpp"
#include "recommend/sensitivity.hpp"
#include "reports/planning/planning_page.hpp"
#include "reports/settings/trainer_settings.hpp"

namespace packsim {
namespace {

struct RecommendArguments {
  ScenarioArgument scenario;
  std::vector<std::string> gpus;  // "TYPE" or "TYPE=PRICE"
  std::vector<int> nodes;
  double deadline_hours = 0;
  double budget = 0;
  int most_gpus = 0;
  std::string goal;
  int threads = 0;  // 0: one for each core
  std::string out;  // folder; empty: nothing is written
  std::string normaliser;
  bool all = false;
  bool json = false;
  bool quiet = false;
};

ClusterOffer offer_of(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos) return {.type = text, .gpu_hour_price = {}};
  ClusterOffer offer{.type = text.substr(0, equals), .gpu_hour_price = {}};
  try {
    std::size_t n_read = 0;
    offer.gpu_hour_price = std::stod(text.substr(equals + 1), &n_read);
    if (n_read + equals + 1 == text.size() && !offer.type.empty()) return offer;
  } catch (const std::logic_error&) {
  }
  throw std::invalid_argument("--gpus: expected TYPE or TYPE=PRICE, such as h100-sxm-80gb=2.5, got " +
                              quote(text));
}

// The scenario's GPUs are the offer if none is given.
Question question_of(const RecommendArguments& arguments, const CommandContext& context) {
  Question question{.offers = {}, .node_counts = arguments.nodes, .limits = {}};
  for (const std::string& text : arguments.gpus) question.offers.push_back(offer_of(text));
  if (question.offers.empty()) {
    const Scenario scenario = load_scenario(arguments.scenario, context);
    question.offers.push_back({scenario.cluster.name, scenario.cluster.gpu_hour_price, true});
  }
  if (question.node_counts.empty()) question.node_counts = usual_node_counts();
  std::ranges::sort(question.node_counts);
  question.node_counts.erase(std::ranges::unique(question.node_counts).begin(), question.node_counts.end());
  if (arguments.deadline_hours > 0) question.limits.deadline_hours = arguments.deadline_hours;
  if (arguments.budget > 0) question.limits.budget = arguments.budget;
  if (arguments.most_gpus > 0) question.limits.most_gpus = arguments.most_gpus;
  const bool has_deadline = question.limits.deadline_hours.has_value();
  question.goal = arguments.goal.empty() ? (has_deadline ? Goal::cheapest : Goal::fastest)
                                         : (arguments.goal == "cheapest" ? Goal::cheapest : Goal::fastest);
  question.simulates_all = arguments.all;
  if (!has_deadline && !question.limits.budget && !question.limits.most_gpus)
    throw std::invalid_argument("expected at least one of --deadline, --budget and --max-gpus");
  return question;
}

Scenario on_cluster(const RecommendArguments& arguments, const CommandContext& context,
                    const std::vector<std::string>& settings) {
  ScenarioArgument changed = arguments.scenario;
  std::ranges::copy(settings, std::back_inserter(changed.settings));
  return load_scenario(changed, context, MistakenStrategies::leave_out);
}

// The plan of the best run in the words of trainers.
void write_settings(const std::string& folder, const Recommendation& found, const Scenario& scenario,
                    const DataPaths& data) {
  const Candidate& best = found.candidates[found.ranking.front()];
  const auto run = std::ranges::find(found.report.runs, best.strategy, &StrategyResult::name);
  const TrainerJob job = trainer_job(found.report.manifest, *run, scenario.model, scenario.cluster.nodes);
  for (const auto& [file, text] : all_settings(scenario, job, data)) write_file(folder + file, text);
}

// What a trainer and a colleague need of the best cluster. Says which files there are.
std::string write_answer(const RecommendArguments& arguments, const CommandContext& context,
                         const Recommendation& found, const std::vector<Sensitivity>& sensitivities) {
  const std::string folder = arguments.out + "/";
  const WholeOutputs whole;
  const std::string answer = recommendation_json(found, sensitivities, context.version);
  write_file(folder + "recommendation.json", answer);
  PlanningData planning = recommendation_points(folder + "recommendation.json", answer);
  if (!found.ranking.empty()) planning.title = found.report.manifest.scenario_name;
  write_file(folder + "planning.html", planning_page(planning));
  std::string text = fmt::format("\nWritten: {}recommendation.json, planning.html", printable(folder));
  if (found.ranking.empty()) return text + "\n";
  const Candidate& best = found.candidates[found.ranking.front()];
  const Scenario scenario =
      on_cluster(arguments, context, settings_of(found.question.offers[best.offer], best.nodes));
  const DataPaths data{.root = context.data_root};
  write_file(folder + "scenario.json",
             moved_scenario(scenario, folder + "scenario.json", data).dump(2) + "\n");
  write_settings(folder + "settings/", found, scenario, data);
  text += ", scenario.json, settings/";
  if (keeps_data_order(scenario.lengths)) {
    write_file(folder + "schedule.plan",
               schedule_file_of(scenario, best.strategy, context.version, arguments.normaliser));
    return text + ", schedule.plan\n";
  }
  return text +
         "\nNo schedule is written: the scenario's samples are not in the order of the data set. With\n"
         "--set lengths.shuffle=false, and without counts and weights of sources, one will be.\n";
}

void run_recommend(const RecommendArguments& arguments, const CommandContext& context) {
  const auto load = [&](const std::vector<std::string>& settings) {
    return on_cluster(arguments, context, settings);
  };
  const Question question = question_of(arguments, context);
  Progress progress(arguments.quiet);
  const int n_threads = arguments.threads > 0
                            ? arguments.threads
                            : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const RecommendOptions options{
      .n_threads = n_threads,
      .progress = [&](const std::string& what) { progress.say(what); },
      .estimated =
          [&](double most_work_s) {
            const double minutes = std::ceil(most_work_s / n_threads / 60);
            if (minutes > 1)
              progress.note(
                  fmt::format("This takes at most about {:.0f} minutes, and less where one cluster turns "
                              "out to be the best; Ctrl-C ends it.",
                              minutes));
          },
  };
  const Recommendation found = recommend(load, question, options);
  const std::vector<Sensitivity> sensitivities = sensitivity_of(load, found, options);
  if (arguments.json) {
    print_exact(recommendation_json(found, sensitivities, context.version));
  } else if (!arguments.quiet) {
    print_out("{}", recommendation_text(found, sensitivities, terminal_width_columns()));
  }
  if (arguments.out.empty()) return;
  const std::string written = write_answer(arguments, context, found, sensitivities);
  if (!arguments.json && !arguments.quiet) print_out("{}", written);
}

}  // namespace

void add_recommend_command(CLI::App& app, const CommandContext& context) {
  auto arguments = std::make_shared<RecommendArguments>();
  CLI::App* command = app.add_subcommand(
      "recommend",
      "Which cluster and plan meet a deadline, a budget or a number of GPUs, and what they cost");
  add_scenario_argument(*command, arguments->scenario);
  command->add_option(
      "--gpus", arguments->gpus,
      "Types of clusters (packsim list clusters) with the price of a GPU-hour: TYPE=PRICE ...; "
      "default: the scenario's");
  command
      ->add_option("--nodes", arguments->nodes,
                   "Numbers of nodes to try: 4,8,16; default: 1 to 128 in steps of a third or a half")
      ->delimiter(',');
  command->add_option("--deadline", arguments->deadline_hours, "Most hours that the job may take")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--budget", arguments->budget,
                   "Most money that it may cost, in the currency of the prices")
      ->check(CLI::PositiveNumber);
  command->add_option("--max-gpus", arguments->most_gpus, "Most GPUs that it may have")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--goal", arguments->goal,
                   "cheapest or fastest of those that meet all limits; default: cheapest with a deadline, "
                   "else fastest")
      ->check(CLI::IsMember({"cheapest", "fastest"}));
  command
      ->add_option("--threads", arguments->threads,
                   "Clusters simulated at the same time; default: one a core")
      ->check(CLI::Range(1, 1024));
  CLI::Option* out = command->add_option("--out", arguments->out,
                                         "Folder for the answer: recommendation.json, planning.html, "
                                         "scenario.json, schedule.plan, and settings for "
                                         "trainers");
  add_normaliser_option(*command, arguments->normaliser)->needs(out);
  command->add_flag("--all", arguments->all, "Simulate also the clusters that cannot be the answer");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->add_flag("--quiet", arguments->quiet, "Print nothing but errors, and the JSON with --json");
  command->callback([arguments, context] { run_recommend(*arguments, context); });
}

}  // namespace packsim
