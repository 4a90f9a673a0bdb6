#include "scenarios/loader/schema/suggest_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "files/file_error.hpp"
#include "packing/strategy.hpp"
#include "scenarios/loader/json/suggest.hpp"
#include "scenarios/loader/schema/file_kinds.hpp"
#include "scenarios/loader/schema/key_texts.hpp"

namespace packsim {
namespace {

// A word of other tools, and where packsim has what it means.
struct ForeignWord {
  std::string_view word;
  std::string_view hint;
};

constexpr std::string_view kDeadline = "that is an option of `packsim recommend`: --deadline";
constexpr std::string_view kBudget = "that is an option of `packsim recommend`: --budget";
constexpr std::string_view kGpus = "did you mean cluster.nodes or cluster.gpus_per_node?";
constexpr std::string_view kBatch = "did you mean training.tokens_per_iteration?";
constexpr std::string_view kMicroBatches = "did you mean strategies.0.micro_batches_per_rank?";
constexpr std::string_view kLength = "did you mean strategies.0.capacity_tokens?";
constexpr std::string_view kTensor = "did you mean parallelism.tp_degree?";
constexpr std::string_view kPipeline = "did you mean parallelism.pp_degree?";
constexpr std::string_view kUlysses = "did you mean strategies.0.sp_degree?";
constexpr std::string_view kRing = "did you mean strategies.0.cp_degree?";
constexpr std::string_view kZero = "did you mean training.zero_stage?";
constexpr std::string_view kDataParallel =
    "data-parallel ranks are what tp_degree, pp_degree, sp_degree and cp_degree leave of the GPUs";
constexpr std::string_view kLearningRate =
    "a learning rate changes no step's time; mixing.learning_rate is that of HBO's actors";

constexpr auto kForeignWords =
    std::to_array<ForeignWord>({{"deadline", kDeadline},
                                {"deadline_hours", kDeadline},
                                {"budget", kBudget},
                                {"gpus", kGpus},
                                {"n_gpus", kGpus},
                                {"gpu_count", kGpus},
                                {"num_gpus", kGpus},
                                {"world_size", kGpus},
                                {"batch_size", kBatch},
                                {"global_batch_size", kBatch},
                                {"train_batch_size", kBatch},
                                {"tokens_per_step", kBatch},
                                {"micro_batch_size", kMicroBatches},
                                {"gradient_accumulation_steps", kMicroBatches},
                                {"seq_len", kLength},
                                {"seq_length", kLength},
                                {"max_seq_len", kLength},
                                {"max_seq_length", kLength},
                                {"max_length", kLength},
                                {"max_len", kLength},
                                {"context_length", kLength},
                                {"cutoff_len", kLength},
                                {"tp", kTensor},
                                {"tensor_parallel_size", kTensor},
                                {"tensor_model_parallel_size", kTensor},
                                {"pp", kPipeline},
                                {"pipeline_parallel_size", kPipeline},
                                {"pipeline_model_parallel_size", kPipeline},
                                {"sp", kUlysses},
                                {"sequence_parallel_size", kUlysses},
                                {"ulysses_sequence_parallel_size", kUlysses},
                                {"cp", kRing},
                                {"context_parallel_size", kRing},
                                {"zero", kZero},
                                {"dp", kDataParallel},
                                {"dp_degree", kDataParallel},
                                {"dp_size", kDataParallel},
                                {"lr", kLearningRate},
                                {"learning_rate", kLearningRate},
                                {"num_nodes", "did you mean cluster.nodes?"},
                                {"num_train_epochs", "did you mean training.epochs?"}});

std::vector<std::string> steps_of(std::string_view place) {
  std::vector<std::string> steps;
  for (std::size_t at = 0; at < place.size();) {
    const std::size_t end = std::min(place.find('/', at + 1), place.size());
    steps.emplace_back(place.substr(at + 1, end - at - 1));
    at = end;
  }
  return steps;
}

// The path of a key as --set takes it: "strategies.3.sp_degree" of "/strategies/[]/sp_degree", in the element
// that the place `from` is in, or else the first.
std::string path_of_key(std::string_view key_place, std::string_view from) {
  const std::vector<std::string> around = steps_of(from);
  bool is_around = true;
  std::string path;
  const std::vector<std::string> steps = steps_of(key_place);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::string step = steps[i];
    is_around = is_around && i < around.size();
    if (step == "[]") {
      step = is_around ? around[i] : "0";
    } else {
      is_around = is_around && around[i] == step;
    }
    path += (path.empty() ? "" : ".") + step;
  }
  return path;
}

std::string name_of(const std::string& place) {
  return place.substr(place.rfind('/') + 1);
}

// The places of all keys of a scenario: "/strategies/[]/sp_degree". None where the pages cannot be read, as a
// message about a key is worth more than one about a page.
std::vector<std::string> key_places(const DataPaths& data) {
  std::vector<std::string> places;
  try {
    const KeyTexts texts(pages_of_keys(data), file_kinds().front().described_as);
    for (const auto& [place, text] : texts.all()) places.push_back(place);
  } catch (const FileError&) {
    return {};
  }
  for (const Option* option : all_options()) places.push_back(fmt::format("/strategies/[]/{}", option->name));
  return places;
}

// The paths of the keys with this name.
std::vector<std::string> paths_of(const std::string& name, std::span<const std::string> places,
                                  const std::string& from) {
  std::vector<std::string> paths;
  for (const std::string& place : places) {
    if (name_of(place) == name) paths.push_back(path_of_key(place, from));
  }
  return paths;
}

// The paths of the keys of other places with a name that `key` is nearly, or a part of. None where more than
// two names are as near.
std::vector<std::string> near_paths(const std::string& key, std::span<const std::string> places,
                                    const std::string& from) {
  constexpr std::size_t kMostNames = 2;
  std::vector<std::string> names;
  std::ranges::transform(places, std::back_inserter(names), name_of);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  const std::vector<std::string> near = nearest_names(key, names);
  std::vector<std::string> paths;
  if (near.size() > kMostNames) return paths;
  for (const std::string& name : near)
    std::ranges::move(paths_of(name, places, from), std::back_inserter(paths));
  return paths;
}

std::string did_you_mean_first(const std::vector<std::string>& paths) {
  constexpr std::size_t kMostPaths = 3;
  return did_you_mean(std::span(paths).first(std::min(paths.size(), kMostPaths)));
}

}  // namespace

std::string suggest_scenario_key(const std::string& place, const std::string& key,
                                 std::span<const std::string> known, const DataPaths& data) {
  const auto* const foreign = std::ranges::find(kForeignWords, key, &ForeignWord::word);
  if (foreign != kForeignWords.end()) return std::string(foreign->hint);
  const std::vector<std::string> places = key_places(data);
  const std::vector<std::string> same = paths_of(key, places, place);
  const std::string own_path = path_of_key(place + "/" + key, place);
  // Another kind of object may have the key in this place, such as an option of another strategy.
  const bool is_of_this_place = std::ranges::find(same, own_path) != same.end();
  if (is_of_this_place) return suggest(key, known);
  if (!same.empty()) return did_you_mean_first(same);
  if (!nearest_names(key, known).empty()) return suggest(key, known);
  const std::vector<std::string> near = near_paths(key, places, place);
  return near.empty() ? suggest(key, known) : did_you_mean_first(near);
}

}  // namespace packsim
