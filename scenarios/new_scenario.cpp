#include "scenarios/new_scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "models/execution_style.hpp"
#include "packing/options/token_count.hpp"
#include "packing/strategy.hpp"

namespace packsim {
namespace {

std::string text_json(const std::string& text) {
  return nlohmann::ordered_json(text).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string tokens_json(std::int64_t tokens) {
  const std::string text = token_count_text(tokens);
  return text.ends_with("K") ? fmt::format("\"{}\"", text) : text;
}

std::string sources_json(const std::vector<std::string>& lengths) {
  std::vector<std::string> sources;
  for (const std::string& source : lengths)
    sources.push_back(fmt::format("{{\"source\": {}}}", text_json(source)));
  return fmt::format("{}", fmt::join(sources, ", "));
}

// What the job's stack does in another way than the profile, and the usual time of a launch for that of a
// slow host.
std::string parallelism_json(const NewJob& job) {
  std::vector<std::string> keys;
  if (job.is_of_slow_host) keys.push_back(fmt::format("\"launch_s\": {}", kTorchLaunch_s));
  if (!job.parallelism.empty()) keys.push_back(job.parallelism);
  if (keys.empty()) return "";
  return fmt::format(
      "  \"parallelism\": {{{}}},  // what your stack and host do in another way than the profile\n",
      fmt::join(keys, ", "));
}

std::string price_line(const std::optional<double>& price) {
  constexpr const char* kComment =
      "// what an hour of one GPU costs, in any currency; reports then say what runs cost";
  if (price) return fmt::format("    \"gpu_hour_price\": {},  {}\n", *price, kComment);
  return fmt::format("    // \"gpu_hour_price\": 2.5,  {}\n", kComment);
}

// Rows of any number as one batch: what sorting by length is for.
std::string options_json(const Strategy& strategy) {
  return strategy.name == "sorted" ? ", \"batch_samples\": 0" : "";
}

// Those that cut samples train another job than the others.
std::vector<const Strategy*> strategies_of(const NewJob& job) {
  std::vector<const Strategy*> chosen;
  for (const Strategy& strategy : strategies()) {
    if (!strategy.cuts_samples && trainer_refusal(job.limits, strategy).empty()) chosen.push_back(&strategy);
  }
  return chosen;
}

std::string strategies_json(const std::vector<const Strategy*>& strategies) {
  std::string text;
  for (const Strategy* strategy : strategies) {
    text += fmt::format("{}    // {}\n    {{\"strategy\": \"{}\"{}}}", text.empty() ? "" : ",\n",
                        strategy->summary, strategy->name, options_json(*strategy));
  }
  return text + "\n";
}

bool is_planner(const Strategy* strategy) {
  return strategy->chooses_groups;
}

// What the trainer does today, or else ISF.
std::string_view baseline_of(const NewJob& job, const std::vector<const Strategy*>& strategies) {
  std::string_view baseline = strategies.empty() ? "" : strategies.front()->name;
  for (const Strategy* strategy : strategies) {
    if (strategy->name == "isf") baseline = strategy->name;
  }
  for (const Strategy* strategy : strategies) {
    if (job.limits != nullptr && job.limits->is_own(strategy->name) && strategy->name != "none")
      return strategy->name;
  }
  return baseline;
}

}  // namespace

std::int64_t longest_tokens_for(std::int64_t longest_sample_tokens) {
  std::int64_t tokens = 8192;
  while (tokens < longest_sample_tokens) tokens *= 2;
  return tokens;
}

std::string new_scenario(const NewJob& job) {
  std::string text =
      "// A scenario of packsim. docs/scenarios.md explains every key; packsim check FILE lists "
      "mistakes.\n{\n";
  const auto add = [&](const std::string& line, const std::string& comment) {
    text += fmt::format("{}  // {}\n", line, comment);
  };
  add("  \"format\": 1,", "the version of this file's format");
  add(fmt::format("  \"name\": {},", text_json(job.name)), "shown in reports");
  add("  \"seed\": 1024,", "of all random draws: the same seed gives the same report");
  add(fmt::format("  \"model\": {},", text_json(job.model)),
      "a name of `packsim list models`, or the path of a Hugging Face config.json");
  text += "  \"cluster\": {\n";
  add(fmt::format("    \"type\": {},", text_json(job.cluster)),
      "a name of `packsim list clusters`, or a path");
  text += price_line(job.gpu_hour_price);
  if (job.gpus_per_node)
    add(fmt::format("    \"gpus_per_node\": {},", *job.gpus_per_node), "how many GPUs of a node the job has");
  add(fmt::format("    \"nodes\": {}", job.nodes), "how many of its nodes the job has");
  text += "  },\n";
  if (!job.trainer.empty())
    add(fmt::format("  \"trainer\": {},", text_json(job.trainer)),
        "in which every plan has to run: a name of `packsim list trainers`");
  add(fmt::format("  \"profile\": {},", text_json(job.profile)),
      "how fast your framework runs a step: a name of `packsim list profiles`. What your host takes to "
      "launch a kernel is parallelism.launch_s");
  text += parallelism_json(job);
  text += "  \"training\": {\n";
  add(fmt::format("    \"tokens_per_iteration\": {},", tokens_json(job.tokens_per_iteration)),
      "tokens of an optimizer step over all GPUs; K is 1024");
  add(fmt::format("    \"epochs\": {},", job.epochs), "how often each sample is trained");
  add("    \"zero_stage\": 1", "0 to 3; strategies whose plan is searched also try 1, 2 and 3");
  text += "  },\n";
  text += "  \"lengths\": {\n";
  add(fmt::format("    \"mix\": [{}],", sources_json(job.lengths)), "files of token lengths");
  add("    \"shuffle\": false", "samples in the order of the files, so that a schedule fits your data set");
  text += "  },\n";
  text += "  \"packing\": {\n";
  add("    \"plan\": \"auto\",",
      "packsim searches each strategy's best pack lengths, SP degrees, ZeRO stage, ...");
  add(fmt::format("    \"capacity_tokens\": {},", tokens_json(job.longest_tokens)),
      "the longest sample that is trained whole");
  add("    \"over_long\": \"error\",", "longer samples: error, drop, truncate, split or own_pack");
  add("    \"last_iteration\": \"shorten\"",
      "packs that do not fill one: shorten it, drop them, or repeat others");
  text += "  },\n";
  std::vector<const Strategy*> strategies = strategies_of(job);
  const std::string_view baseline = baseline_of(job, strategies);
  if (job.is_short && std::ranges::any_of(strategies, is_planner))
    std::erase_if(strategies, [&](const Strategy* one) { return !is_planner(one) && one->name != baseline; });
  add(fmt::format("  \"baseline\": \"{}\",", baseline), "the strategy that speed-ups refer to");
  text += "  \"strategies\": [\n" + strategies_json(strategies) + "  ]\n}\n";
  return text;
}

}  // namespace packsim
