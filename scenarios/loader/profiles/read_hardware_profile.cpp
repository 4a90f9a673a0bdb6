#include "scenarios/loader/profiles/read_hardware_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "models/gpu.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

// The GPU with this driver_name; none if no file of models/gpus has it.
std::optional<Gpu> find_gpu(const std::string& driver_name, const DataPaths& data) {
  Problems problems;
  std::optional<Gpu> found;
  for (const std::string& name : names_of(kGpuFiles, data)) {
    const JsonDocument document = read_json(path_of(kGpuFiles, name, data), problems);
    Gpu gpu = read_gpu(JsonReader(document, problems));
    if (gpu.driver_name == driver_name) found = std::move(gpu);
  }
  problems.throw_if_any();
  return found;
}

constexpr std::int64_t kMostRows = 1'000'000'000;
const std::vector<std::string> kSizes = {"bytes", "parameters", "m", "k", "length_tokens", "launches"};

bool is_at_least_0(const Json& value) {
  return value.is_number() && value.get<double>() >= 0;
}

// Elements of an array member that may be empty; as readers.
std::vector<JsonReader> objects_or_none(JsonReader& reader, std::string_view key) {
  const Json* elements = reader.value(key);
  if (elements != nullptr && elements->is_array() && !elements->empty()) return reader.objects(key);
  if (elements == nullptr || !elements->is_array()) reader.refuse(key, "array of objects");
  return {};
}

// [value, standard error]
FittedNumber read_number(JsonReader& reader, const std::string& key) {
  const Json* pair = reader.value(key);
  if (pair == nullptr || !pair->is_array() || pair->size() != 2 || !is_at_least_0((*pair)[0]) ||
      !is_at_least_0((*pair)[1])) {
    reader.refuse(key, "[value, standard error], both at least 0");
    return {.name = key};
  }
  return {key, (*pair)[0].get<double>(), (*pair)[1].get<double>()};
}

FitQuality read_quality(JsonReader reader) {
  FitQuality quality;
  quality.n_rows = reader.integer("n_rows", 1, kMostRows);
  quality.n_samples = reader.integer("n_samples", 1, kMostRows * 1000);
  quality.n_outliers = reader.integer("n_outliers", 0, kMostRows);
  quality.rms = reader.number("rms", 0);
  quality.left_out_rms = reader.number("left_out_rms", 0);
  quality.max_error = reader.number("max_error", 0);
  return quality;
}

// Ids of sources of the profile.
std::vector<std::string> read_source_ids(JsonReader& reader, const std::set<std::string>& known) {
  std::vector<std::string> ids;
  const Json* list = reader.value("sources");
  if (list == nullptr || !list->is_array()) {
    reader.refuse("sources", "array of source ids");
    return ids;
  }
  for (const Json& id : *list) {
    if (id.is_string() && known.contains(id.get<std::string>())) {
      ids.push_back(id.get<std::string>());
    } else {
      reader.refuse("sources", "ids of sources of this file", describe(id));
    }
  }
  return ids;
}

std::vector<CurvePoint> read_points(JsonReader& reader) {
  std::vector<CurvePoint> points;
  const std::string expected = "points [size > 0, time_s > 0, relative_error >= 0, n_rows >= 0]";
  const Json* list = reader.value("points");
  if (list == nullptr || !list->is_array() || list->empty()) {
    reader.refuse("points", "at least one of " + expected);
    return points;
  }
  for (const Json& point : *list) {
    const bool good = point.is_array() && point.size() == 4 && std::ranges::all_of(point, is_at_least_0) &&
                      point[0].get<double>() > 0 && point[1].get<double>() > 0 && integer_of(point[3]);
    if (!good) {
      reader.refuse("points", expected, describe(point));
      return points;
    }
    points.push_back(
        {point[0].get<double>(), point[1].get<double>(), point[2].get<double>(), *integer_of(point[3])});
    if (points.size() < 2) continue;
    const CurvePoint& before = points[points.size() - 2];
    if (points.back().size <= before.size) {
      reader.refuse("points", fmt::format("sizes that rise, over {}", before.size), describe(point));
      return points;
    }
    if (points.back().time_s < before.time_s) {
      reader.refuse("points", fmt::format("times that do not fall, from {} on", before.time_s),
                    describe(point));
      return points;
    }
  }
  return points;
}

// The kernel that a key starts with has to exist, and be the first of its key.
std::string read_key(JsonReader& reader, std::set<std::string>& seen) {
  std::string key = reader.string("key");
  if (key.empty()) return key;
  const std::string kernel = key.substr(0, key.find(' '));
  if (std::ranges::find(kernel_kinds(), std::string_view(kernel), &KernelKind::name) == kernel_kinds().end())
    reader.refuse("key", "a key that starts with a kernel's name");
  if (!seen.insert(key).second) reader.refuse("key", "a key that no other has");
  return key;
}

KernelCurve read_curve(JsonReader& reader, const std::set<std::string>& sources,
                       std::set<std::string>& seen) {
  KernelCurve curve;
  curve.key = read_key(reader, seen);
  curve.library = reader.string("library");
  curve.size_name = kSizes[reader.one_of("size", kSizes)];
  curve.fixed_s = read_number(reader, "fixed_s");
  curve.size_per_s = read_number(reader, "size_per_s");
  curve.straight = reader.boolean("straight");
  curve.end_error = reader.number("end_error", 0);
  curve.quality = read_quality(reader.object("quality"));
  curve.sources = read_source_ids(reader, sources);
  curve.points = read_points(reader);
  return curve;
}

// What each kind of model is asked for; see models/kernels/.
std::vector<std::string> numbers_of(const std::string& kernel) {
  if (kernel == "gemm")
    return {"launch_s", "flop_per_s", "s_per_output", "bytes_per_s", "n_neighbours", "neighbour_distance"};
  if (kernel == "attention") {
    return {"launch_s",       "tail_s_per_token", "s_per_pair",  "s_per_token",
            "s_per_document", "s_per_kv_token",   "n_neighbours"};
  }
  if (kernel == "collective") return {"fixed_s", "gpu_s", "bytes_per_s"};
  return {"slow_down"};
}

std::vector<std::string> box_of(const std::string& kernel) {
  if (kernel == "gemm") return {"m", "n", "k"};
  if (kernel == "attention") return {"length_tokens", "heads", "heads_per_kv_head"};
  if (kernel == "collective") return {"gpus", "bytes"};
  return {"m", "n", "k", "bytes"};
}

KernelModel read_kernel_model(JsonReader& reader, const std::set<std::string>& sources,
                              std::set<std::string>& seen) {
  KernelModel model;
  model.key = read_key(reader, seen);
  const std::string kernel = model.key.substr(0, model.key.find(' '));
  const std::vector<std::string> kernels = {"gemm", "attention", "collective", "overlap"};
  if (std::ranges::find(kernels, kernel) == kernels.end() && !model.key.empty())
    reader.refuse("key", "a model of gemm, attention, collective or overlap");
  model.library = reader.string("library");
  JsonReader numbers = reader.object("numbers");
  for (const std::string& name : numbers_of(kernel)) {
    model.numbers.push_back(read_number(numbers, name));
    if (name.ends_with("_per_s") && model.numbers.back().value == 0) numbers.refuse(name, "a rate over 0");
  }
  JsonReader box = reader.object("box");
  for (const std::string& key : box_of(kernel)) {
    const Json* range = box.value(key);
    if (range == nullptr || !range->is_array() || range->size() != 2 || !is_at_least_0((*range)[0]) ||
        !is_at_least_0((*range)[1]) || (*range)[1] < (*range)[0] || (*range)[0].get<double>() == 0) {
      box.refuse(key, "[lowest, highest], over 0");
      model.box.push_back({key, 1, 1});
      continue;
    }
    model.box.push_back({key, (*range)[0].get<double>(), (*range)[1].get<double>()});
  }
  model.end_error = reader.number("end_error", 0);
  model.quality = read_quality(reader.object("quality"));
  model.sources = read_source_ids(reader, sources);
  return model;
}

MeasurementSource read_source(JsonReader& reader, std::set<std::string>& ids) {
  MeasurementSource source;
  source.id = reader.string("id", "");
  source.gpu = reader.string("gpu");
  source.provenance = reader.string("provenance", "");
  source.licence = reader.string("licence", "");
  if (!ids.insert(source.id).second) reader.refuse("id", "an id that no other source has");
  const Json* details = reader.value("details");
  if (details == nullptr) return source;
  if (!details->is_object()) {
    reader.refuse("details", "object");
    return source;
  }
  for (const auto& [key, value] : details->items()) {
    if (value.is_string()) {
      source.details[key] = value.get<std::string>();
    } else {
      reader.refuse("details", "texts", key + ": " + describe(value));
    }
  }
  return source;
}

void read_names(JsonReader& reader, const std::string& key, const std::vector<std::string>& names) {
  const Json* value = reader.value(key);
  if (value != nullptr && *value == Json(names)) return;
  reader.refuse(key, Json(names).dump());
}

HardwareProfile read_alone(JsonReader& reader) {
  HardwareProfile profile;
  if (reader.silent()) return profile;
  reader.integer("format", 1, 1);
  profile.name = reader.string("name");
  profile.gpu = reader.string("gpu");
  profile.description = reader.string("description", "");
  profile.missing_kernels_from = reader.string("missing_kernels_from", "");
  // What the places of the lists below are, so that a file of other units is refused.
  read_names(reader, "point", {"size", "time_s", "relative_error", "n_rows"});
  read_names(reader, "number", {"value", "standard_error"});
  std::set<std::string> ids;
  std::set<std::string> keys;
  std::set<std::string> model_keys;
  for (JsonReader& source : reader.objects("sources")) profile.sources.push_back(read_source(source, ids));
  for (JsonReader& model : objects_or_none(reader, "models"))
    profile.models.push_back(read_kernel_model(model, ids, model_keys));
  for (JsonReader& curve : objects_or_none(reader, "curves"))
    profile.curves.push_back(read_curve(curve, ids, keys));
  for (JsonReader& unused : objects_or_none(reader, "unused")) {
    profile.unused.push_back({.family = unused.string("family"),
                              .library = unused.string("library"),
                              .n_rows = unused.integer("n_rows", 1, kMostRows),
                              .reason = unused.string("reason", "")});
  }
  std::ranges::sort(profile.curves, {}, &KernelCurve::key);
  std::ranges::sort(profile.models, {}, &KernelModel::key);
  return profile;
}

// The profile that `profile` names, and those that this one names in turn. files: those on the way here.
std::shared_ptr<const HardwareProfile> read_stand_in(const HardwareProfile& profile, JsonReader& reader,
                                                     const DataPaths& data, Problems& problems,
                                                     std::set<std::filesystem::path> files) {
  constexpr std::string_view kKey = "missing_kernels_from";
  const std::string& name = profile.missing_kernels_from;
  if (name.empty()) return nullptr;
  const std::string folder = std::filesystem::path(reader.file()).parent_path().string();
  const FoundFile file = find_named_file(kHardwareProfileFiles, name, folder, data);
  if (!file.found()) {
    reader.refuse(kKey, file.expected, file.got);
    return nullptr;
  }
  std::error_code none;
  files.insert(std::filesystem::weakly_canonical(reader.file(), none));
  if (files.contains(std::filesystem::weakly_canonical(file.path, none))) {
    const std::string_view which =
        files.size() == 1 ? "which is this profile itself" : "which names this one";
    reader.refuse(kKey, "another profile", fmt::format("{}, {}", name, which));
    return nullptr;
  }
  const JsonDocument document = read_json(file.path, problems);
  JsonReader other(document, problems);
  HardwareProfile stand_in = read_alone(other);
  stand_in.data_sheet = find_gpu(stand_in.gpu, data);
  if (!stand_in.data_sheet && !stand_in.gpu.empty()) {
    reader.refuse(kKey, fmt::format("a profile of a GPU with a file in {}", kGpuFiles.folder),
                  fmt::format("{}, measured on {}", name, stand_in.gpu));
  }
  stand_in.stand_in = read_stand_in(stand_in, other, data, problems, files);
  return std::make_shared<const HardwareProfile>(std::move(stand_in));
}

}  // namespace

HardwareProfile read_hardware_profile(JsonReader reader) {
  return read_alone(reader);
}

HardwareProfile read_hardware_profile(JsonReader reader, const DataPaths& data, Problems& problems) {
  HardwareProfile profile = read_alone(reader);
  profile.data_sheet = find_gpu(profile.gpu, data);
  profile.stand_in = read_stand_in(profile, reader, data, problems, {});
  return profile;
}

HardwareProfile read_hardware_profile(const std::string& path) {
  Problems problems;
  const JsonDocument document = read_json(path, problems);
  HardwareProfile profile = read_hardware_profile(JsonReader(document, problems));
  problems.throw_if_any();
  return profile;
}

}  // namespace packsim
