#include <algorithm>
#include <array>
#include <cmath>

#include "models/kernels/kernel_times.hpp"

namespace packsim {
namespace {

// As in gemm_time.cpp.
constexpr double kNextDoor = 0.001;
// Documents that together take less of a pack's time do not decide its standing.
constexpr double kSmallShare = 0.02;

struct Heads {
  double heads = 0;
  double kv_heads = 0;

  double per_kv_head() const { return heads / kv_heads; }
};

Heads heads_of(const KernelCase& kernel) {
  return {static_cast<double>(kernel.integer("heads")), static_cast<double>(kernel.integer("kv_heads"))};
}

// Head shapes measured at this head_dim, the nearest by heads and by heads for each key-value head.
struct Neighbour {
  const KernelCurve* curve = nullptr;
  Heads heads;
  double distance = 0;
  double weight = 0;
};

std::vector<Neighbour> neighbours_of(const HardwareProfile& profile, const KernelModel& model,
                                     const Heads& heads) {
  std::vector<Neighbour> all;
  const std::string start = "attention pass=" + std::string(key_value(model.key, "pass")) + " heads=";
  for (const KernelCurve* curve : profile.curves_of(start)) {
    if (key_value(curve->key, "head_dim") != key_value(model.key, "head_dim")) continue;
    Neighbour neighbour{.curve = curve,
                        .heads = {key_number(curve->key, "heads"), key_number(curve->key, "kv_heads")}};
    const double by_heads = std::log(neighbour.heads.heads / heads.heads);
    const double by_ratio = std::log(neighbour.heads.per_kv_head() / heads.per_kv_head());
    neighbour.distance = std::sqrt(by_heads * by_heads + by_ratio * by_ratio);
    if (neighbour.distance > 0) all.push_back(neighbour);
  }
  const std::size_t n = std::min(static_cast<std::size_t>(model.number("n_neighbours")), all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(n), {}, &Neighbour::distance);
  all.resize(n);
  double sum = 0;
  for (Neighbour& neighbour : all) {
    neighbour.weight = 1 / (neighbour.distance * neighbour.distance + kNextDoor);
    sum += neighbour.weight;
  }
  for (Neighbour& neighbour : all) neighbour.weight /= sum;
  return all;
}

BaseTime base_of(const AttentionWork& work, const Heads& heads) {
  return [work, heads](double length) { return work.document_s(length, heads.heads, heads.kv_heads); };
}

// The model's document, times what nearby head shapes take over it. Each of their curves rises with length,
// but their ratio to the model may fall faster than the model rises; so the curves are averaged, each scaled
// to these heads at its longest length.
CurveTime from_neighbours(const std::vector<Neighbour>& neighbours, const AttentionWork& work,
                          const Heads& heads, double length) {
  CurveTime mean{.standing = Standing::interpolated};
  for (const Neighbour& neighbour : neighbours) {
    const BaseTime base = base_of(work, neighbour.heads);
    const double longest = neighbour.curve->points.back().size;
    const double scale = work.document_s(longest, heads.heads, heads.kv_heads) / base(longest);
    const CurveTime time = curve_time(*neighbour.curve, length, base);
    mean.time_s += neighbour.weight * scale * time.time_s;
    mean.relative_error += neighbour.weight * time.relative_error;
    mean.standing = std::max(mean.standing, time.standing);
  }
  if (neighbours.empty()) mean.time_s = work.document_s(length, heads.heads, heads.kv_heads);
  return mean;
}

// The documents of a pack together.
struct PackWork {
  double work_s = 0;
  double relative_error = 0;  // documents share their curve's errors, so these add up
  Standing standing = Standing::measured;
};

template <typename TimeOfLength>
PackWork add_up(const Documents& documents, const TimeOfLength& time_of_length) {
  PackWork pack;
  std::array<double, kNStandings> by_standing = {};
  for (const DocumentRun& run : documents.runs) {
    const CurveTime time = time_of_length(static_cast<double>(run.length_tokens));
    const double all_s = static_cast<double>(run.n_documents) * time.time_s;
    pack.work_s += all_s;
    pack.relative_error += all_s * time.relative_error;
    by_standing[static_cast<std::size_t>(time.standing)] += all_s;
  }
  pack.relative_error /= pack.work_s;
  double worse_s = 0;
  for (std::size_t i = kNStandings; i-- > 0;) {
    worse_s += by_standing[i];
    if (worse_s <= kSmallShare * pack.work_s) continue;
    pack.standing = static_cast<Standing>(i);
    break;
  }
  return pack;
}

KernelTime pack_time(const KernelModel& model, const Documents& documents, const PackWork& pack,
                     const std::string& basis) {
  const double longest_s = model.number("tail_s_per_token") * static_cast<double>(documents.longest_tokens());
  return {.time_s = attention_pack_s(model.number("launch_s"), longest_s, pack.work_s),
          .relative_error = pack.relative_error,
          .standing = pack.standing,
          .basis = basis};
}

// The measured head_dim nearest to the one asked for.
const KernelModel* nearest_model(const HardwareProfile& profile, std::string_view pass, double head_dim) {
  const KernelModel* nearest = nullptr;
  double nearest_distance = 0;
  for (const KernelModel* model : profile.models_of("attention pass=" + std::string(pass) + " head_dim=")) {
    const double distance = std::abs(std::log(key_number(model->key, "head_dim") / head_dim));
    if (nearest == nullptr || distance < nearest_distance) {
      nearest = model;
      nearest_distance = distance;
    }
  }
  return nearest;
}

}  // namespace

double AttentionWork::document_s(double length_tokens, double heads, double kv_heads) const {
  return heads * (length_tokens * (s_per_pair * length_tokens + s_per_token) + s_per_document) +
         kv_heads * s_per_kv_token * length_tokens;
}

AttentionWork attention_work(const KernelModel& model) {
  return {.s_per_pair = model.number("s_per_pair"),
          .s_per_token = model.number("s_per_token"),
          .s_per_document = model.number("s_per_document"),
          .s_per_kv_token = model.number("s_per_kv_token")};
}

double attention_pack_s(double launch_s, double longest_s, double work_s) {
  const double larger_s = std::max(longest_s, work_s);
  if (larger_s <= 0) return launch_s;
  const double ratio = std::min(longest_s, work_s) / larger_s;
  const double square = ratio * ratio;
  return launch_s + larger_s * std::sqrt(std::sqrt(1 + square * square));
}

KernelTime attention_heads_time(const HardwareProfile& profile, const KernelModel& model,
                                const KernelCase& kernel) {
  const Heads heads = heads_of(kernel);
  const AttentionWork work = attention_work(model);
  const Documents documents = kernel.documents("docs");
  const std::vector<Neighbour> neighbours = neighbours_of(profile, model, heads);
  PackWork pack =
      add_up(documents, [&](double length) { return from_neighbours(neighbours, work, heads, length); });
  // The curves know how far their lengths go; without any, the box does.
  const auto longest = static_cast<double>(documents.longest_tokens());
  const double length = neighbours.empty() ? longest : model.box.front().low;
  const double outside = beyond_box(model, {length, heads.heads, heads.per_kv_head()});
  if (outside > 0) pack.standing = Standing::extrapolated;
  const double unknown = model.quality.left_out_rms > 0 ? model.quality.left_out_rms : model.quality.rms;
  pack.relative_error = together(pack.relative_error, unknown, model.end_error * outside);
  return pack_time(model, documents, pack,
                   "model of " + model.key + (neighbours.empty() ? "" : " with the nearest heads' curves"));
}

std::optional<KernelTime> attention_time(const HardwareProfile& profile, const KernelCase& kernel) {
  const auto head_dim = static_cast<double>(kernel.integer("head_dim"));
  const KernelModel* model = nearest_model(profile, kernel.value("pass"), head_dim);
  if (model == nullptr) return std::nullopt;
  const double measured_head_dim = key_number(model->key, "head_dim");
  if (measured_head_dim != head_dim) {
    // The products are linear in head_dim, the softmax between them does not depend on it. For FA3 forward
    // on an H100, 64 takes 0.62 of the time of 128 where 0.5 is linear.
    constexpr double kHeadDimError = 0.3;
    const double scale = head_dim / measured_head_dim;
    KernelTime time = *attention_time(profile, kernel.with("head_dim", key_value(model->key, "head_dim")));
    time.time_s *= scale;
    time.standing = Standing::extrapolated;
    time.relative_error = together(time.relative_error, kHeadDimError * std::abs(std::log(scale)));
    time.basis += ", scaled by head_dim";
    return time;
  }
  const KernelCurve* curve = profile.curve(curve_place(kernel).key);
  if (curve == nullptr) return attention_heads_time(profile, *model, kernel);
  const Documents documents = kernel.documents("docs");
  const BaseTime base = base_of(attention_work(*model), heads_of(kernel));
  PackWork pack = add_up(documents, [&](double length) { return curve_time(*curve, length, base); });
  pack.relative_error = together(pack.relative_error, curve->quality.rms);
  return pack_time(*model, documents, pack, "curve " + curve->key);
}

}  // namespace packsim
