#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ratio>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "cli/commands.hpp"
#include "cli/recommend/amounts.hpp"
#include "cli/recommend/cluster_offers.hpp"
#include "cli/recommend/data_job.hpp"
#include "cli/shared/interrupts.hpp"
#include "cli/shared/moved_scenario.hpp"
#include "cli/shared/normaliser_option.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/scenario_argument.hpp"
#include "cli/shared/terminal.hpp"
#include "experiment/compare_strategies.hpp"
#include "files/inputs.hpp"
#include "files/text/printable.hpp"
#include "recommend/known_candidates.hpp"
#include "recommend/recommendation_points.hpp"
#include "recommend/recommendation_text.hpp"
#include "recommend/sensitivity.hpp"
#include "reports/planning/planning_page.hpp"
#include "reports/settings/trainer_settings.hpp"
#include "reports/text/text_table.hpp"

namespace packsim {
namespace {

struct RecommendArguments {
  ScenarioArgument scenario;
  DataOptions data;
  std::vector<std::string> gpus;  // as cluster_offers() reads them
  std::string prices;             // file; empty: none
  std::vector<int> nodes;
  std::string deadline;
  std::string budget;
  std::string time_limit;
  bool resume = false;
  int most_gpus = 0;
  std::string goal;
  int threads = 0;  // 0: one for each core
  std::string out;  // folder; empty: nothing is written
  std::string normaliser;
  bool all = false;
  bool sensitivity = false;
  bool json = false;
  bool quiet = false;
};

// The scenario's GPUs are the offer if none is given.
Question question_of(const RecommendArguments& arguments, std::vector<ClusterOffer> offers,
                     const PriceList* list, const CommandContext& context) {
  Question question{.offers = std::move(offers), .node_counts = arguments.nodes, .limits = {}};
  if (question.offers.empty()) {
    const Scenario scenario = load_scenario(arguments.scenario, context);
    question.offers.push_back({scenario.cluster.name, scenario.cluster.gpu_hour_price, true});
  }
  const auto n_sized = std::ranges::count_if(
      question.offers, [](const ClusterOffer& offer) { return !offer.node_counts.empty(); });
  if (n_sized > 0 && !arguments.nodes.empty())
    throw std::invalid_argument("--nodes: expected none where --gpus says how many GPUs, as 8xH100 does");
  if (n_sized > 0 && n_sized < std::ssize(question.offers))
    throw std::invalid_argument("--gpus: expected numbers of GPUs, as in 8xH100, for all types or for none");
  const bool is_sized = n_sized == std::ssize(question.offers) || !arguments.nodes.empty();
  if (question.node_counts.empty()) question.node_counts = usual_node_counts();
  std::ranges::sort(question.node_counts);
  question.node_counts.erase(std::ranges::unique(question.node_counts).begin(), question.node_counts.end());
  if (!arguments.deadline.empty())
    question.limits.deadline_hours = hours_of("--deadline", arguments.deadline);
  if (!arguments.budget.empty()) {
    const Money money = money_of("--budget", arguments.budget);
    question.limits.budget = money.amount;
    question.currency = money.currency;
  }
  if (list != nullptr) {
    question.price_source = fmt::format("{}, {}", list->source, list->date);
    if (question.currency.empty()) question.currency = list->currency;
    if (!list->currency.empty() && question.currency != list->currency)
      throw std::invalid_argument(fmt::format("--budget: expected {}, in which the prices of {} are, got {}",
                                              list->currency, quote(arguments.prices), question.currency));
  }
  if (arguments.most_gpus > 0) question.limits.most_gpus = arguments.most_gpus;
  const bool is_open =
      !question.limits.deadline_hours && !question.limits.budget && !question.limits.most_gpus;
  const bool is_cheapest = arguments.goal.empty() ? question.limits.deadline_hours ||
                                                        (is_open && question.offers.front().gpu_hour_price)
                                                  : arguments.goal == "cheapest";
  question.goal = is_cheapest ? Goal::cheapest : Goal::fastest;
  question.simulates_all = arguments.all;
  if (is_open && !is_sized)
    throw std::invalid_argument(
        "expected at least one of --deadline, --budget and --max-gpus, or what may be booked: --gpus "
        "8xH100,16xH100");
  return question;
}

Scenario on_cluster(const RecommendArguments& arguments, const CommandContext& context,
                    const std::vector<std::string>& settings) {
  return load_scenario(with_settings(arguments.scenario, settings), context, MistakenStrategies::leave_out);
}

constexpr const char* kAnswer = "recommendation.json";
constexpr const char* kPage = "planning.html";
constexpr const char* kScenario = "scenario.json";
constexpr const char* kSchedule = "schedule.plan";
constexpr const char* kSettings = "settings/";

void expect_outputs(const RecommendArguments& arguments, bool has_data, const CommandContext& context) {
  if (arguments.out.empty()) return;
  if (is_path(arguments.scenario.path)) keep_input(arguments.scenario.path);  // which is read later
  std::vector<std::string> names = {kAnswer, kPage, kScenario, kSchedule};
  for (const std::string& name : all_settings_names({.root = context.data_root}))
    names.push_back(kSettings + name);
  if (has_data)
    std::ranges::copy(job_names(arguments.scenario.path, arguments.data), std::back_inserter(names));
  context.outputs.expect({}, arguments.out, names);
}

// The plan of the best run in the words of trainers.
void add_settings(const Recommendation& found, const Scenario& scenario, const DataPaths& data,
                  std::vector<Outputs::Text>& texts) {
  const Candidate& best = found.candidates[found.ranking.front()];
  const auto run = std::ranges::find(found.report.runs, best.strategy, &StrategyResult::name);
  const TrainerJob job = trainer_job(found.report.manifest, *run, scenario.model, scenario.cluster.nodes);
  for (auto& [file, text] : all_settings(scenario, job, data))
    texts.emplace_back(kSettings + file, std::move(text));
}

// What is known from an answer in this folder, which the new one replaces.
std::vector<Candidate> earlier_answer(const std::string& folder) {
  if (folder.empty())
    throw std::invalid_argument("--resume: expected --out, the folder of the earlier answer");
  const std::string path = folder + "/" + kAnswer;
  std::vector<Candidate> known = known_candidates(path);
  release_input(path);
  return known;
}

// What a trainer and a colleague need of the best cluster. Says which files there are.
std::string write_answer(const RecommendArguments& arguments, const CommandContext& context,
                         const Recommendation& found, const std::vector<Sensitivity>& sensitivities) {
  const std::string folder = arguments.out + "/";
  const WholeOutputs whole;
  const std::string answer = recommendation_json(found, sensitivities, context.version);
  PlanningData planning = recommendation_points(folder + kAnswer, answer);
  if (!found.ranking.empty()) planning.title = found.report.manifest.scenario_name;
  std::vector<Outputs::Text> texts = {{kAnswer, answer}, {kPage, planning_page(planning)}};
  const auto written = [&](const std::string& files) {
    return formats_detail::wrapped(fmt::format("Written: {}{}", printable(folder), files),
                                   terminal_width_columns(), 2);
  };
  std::string files = fmt::format("{}, {}", kAnswer, kPage);
  if (found.ranking.empty()) {
    context.outputs.write(folder, texts);
    return written(files);
  }
  const Candidate& best = found.candidates[found.ranking.front()];
  const Scenario scenario =
      on_cluster(arguments, context, settings_of(found.question.offers[best.offer], best.nodes));
  const DataPaths data{.root = context.data_root};
  texts.emplace_back(kScenario, moved_scenario(scenario, folder + kScenario, data).dump(2) + "\n");
  add_settings(found, scenario, data, texts);
  context.outputs.write(folder, texts);
  files += fmt::format(", {}, {}", kScenario, kSettings);
  if (keeps_data_order(scenario.lengths)) {
    context.outputs.write(folder, kSchedule,
                          schedule_file_of(scenario, best.strategy, context.version, arguments.normaliser));
    return written(fmt::format("{}, {}", files, kSchedule));
  }
  return written(files) +
         "No schedule is written: the scenario's samples are not in the order of the data set. With\n"
         "--set lengths.shuffle=false, and without counts and weights of sources, one will be.\n";
}

// A scenario says by itself what these options say of data.
void refuse_data_options(const CLI::App& command, const std::string& scenario) {
  std::vector<std::string> given;
  for (const char* option : {"--model", "--tokenizer", "--column", "--trainer", "--stack", "--profile",
                             "--tokens-per-iteration", "--epochs"}) {
    if (command.count(option) > 0)
      given.push_back(fmt::format("{}: expected none beside a scenario, which {} is; --set changes it",
                                  option, quote(scenario)));
  }
  if (!given.empty()) throw std::invalid_argument(fmt::format("{}", fmt::join(given, "\n")));
}

void run_recommend(const CLI::App& command, RecommendArguments arguments, const CommandContext& context) {
  std::optional<PriceList> list;
  if (!arguments.prices.empty()) list = load_price_list(arguments.prices);
  const PriceList* const prices = list ? &*list : nullptr;
  const std::vector<ClusterOffer> offers =
      cluster_offers(arguments.gpus, prices, {.root = context.data_root});
  const bool has_data = is_data(arguments.scenario.path, arguments.data);
  if (has_data) {
    require_model_and_gpus(arguments.data, offers);
  } else {
    refuse_data_options(command, arguments.scenario.path);
  }
  // Before data are measured, which may take long.
  const Question question = question_of(arguments, offers, prices, context);
  if (has_data && arguments.out.empty()) arguments.out = "packsim-recommendation";
  std::vector<Candidate> known;
  if (arguments.resume) known = earlier_answer(arguments.out);
  expect_outputs(arguments, has_data, context);
  if (has_data) {
    arguments.scenario.path =
        write_job_of_data(arguments.scenario.path, arguments.data, offers, arguments.out + "/", context);
  }
  const auto load = [&](const std::vector<std::string>& settings) {
    return on_cluster(arguments, context, settings);
  };
  using Clock = std::chrono::steady_clock;
  const std::optional<Clock::time_point> end =
      arguments.time_limit.empty()
          ? std::nullopt
          : std::optional(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double, std::ratio<3600>>(
                                                 hours_of("--time-limit", arguments.time_limit))));
  std::optional<EarlyAnswer> early(std::in_place);
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
                              "out to be the best; Ctrl-C or --time-limit ends it with what is known.",
                              minutes));
          },
      .is_over = [&] { return early->is_asked() || (end && Clock::now() >= *end); },
      .version = context.version,
      .known = std::move(known),
  };
  const Recommendation found = recommend(load, question, options);
  early.reset();
  if (arguments.resume)
    progress.note(fmt::format("{} of {} candidates are those of the earlier answer in {}.", found.n_known,
                              found.candidates.size(), printable(arguments.out)));
  const std::vector<Sensitivity> sensitivities = arguments.sensitivity && found.is_complete
                                                     ? sensitivity_of(load, found, options)
                                                     : std::vector<Sensitivity>();
  if (arguments.json) {
    print_exact(recommendation_json(found, sensitivities, context.version));
  } else if (!arguments.quiet) {
    print_out("{}", recommendation_text(found, sensitivities, terminal_width_columns()));
  }
  if (arguments.out.empty()) return;
  const std::string written = write_answer(arguments, context, found, sensitivities);
  if (arguments.json || arguments.quiet) return;
  print_out("{}", written);
  if (!found.is_complete) print_out("The same command with --resume goes on from this answer.\n");
}

}  // namespace

void add_recommend_command(CLI::App& app, const CommandContext& context) {
  auto arguments = std::make_shared<RecommendArguments>();
  CLI::App* command = app.add_subcommand(
      "recommend",
      "Which cluster and plan meet a deadline, a budget or a number of GPUs, and what they cost");
  add_scenario_argument(*command, arguments->scenario,
                        "; or data: lengths, or .jsonl, .parquet or a folder of samples");
  command->add_option(
      "--gpus", arguments->gpus,
      "What may be booked, with the price of a GPU-hour: 8xH100=2.5,16xH100=2.5, or TYPE=PRICE "
      "... (packsim list clusters) in every number of nodes; default: the scenario's");
  command->add_option(
      "--prices", arguments->prices,
      "File with the price of a GPU-hour of each type, its terms, source and date, in place of "
      "prices in --gpus (packsim schema prices)");
  command->add_option("--model", arguments->data.model,
                      "With data: shipped model, model file or Hugging Face config.json");
  command->add_option("--tokenizer", arguments->data.tokenizer,
                      "With data that are texts: a tokenizer.json (default: the one beside the model)");
  command->add_option("--column", arguments->data.column,
                      "With data: the column of texts, token ids or lengths (default: the usual names)");
  add_job_options(*command, arguments->data.job);
  command
      ->add_option("--nodes", arguments->nodes,
                   "Numbers of nodes to try: 4,8,16; default: 1 to 128 in steps of a third or a half")
      ->delimiter(',');
  command->add_option("--deadline", arguments->deadline,
                      "Most time that the job may take: 12h, 2d, 90m, or hours");
  command->add_option("--budget", arguments->budget,
                      "Most money that it may cost, in the currency of the prices: 900, or '900 EUR'");
  command->add_option("--max-gpus", arguments->most_gpus, "Most GPUs that it may have")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()));
  command
      ->add_option("--goal", arguments->goal,
                   "cheapest or fastest of those that meet all limits; default: cheapest with a deadline, "
                   "else fastest")
      ->check(CLI::IsMember({"cheapest", "fastest"}));
  command->add_option("--time-limit", arguments->time_limit,
                      "Answer after this time with what is known by then: 30s, 2m, or hours; so does Ctrl-C");
  command->add_flag("--resume", arguments->resume,
                    "Go on from the answer in --out: what it has of the same job is not simulated again");
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
  command->add_flag("--sensitivity", arguments->sensitivity,
                    "Say also what other links, memory and data would change, each planned anew");
  context.outputs.add_force_option(*command);
  command->add_flag("--json", arguments->json, "Print JSON");
  command->add_flag("--quiet", arguments->quiet, "Print nothing but errors, and the JSON with --json");
  command->callback([arguments, command, context] { run_recommend(*command, *arguments, context); });
}

}  // namespace packsim
