#include <algorithm>
#include <array>
#include <cmath>

#include "models/kernels/attention_documents.hpp"
#include "models/kernels/kernel_times.hpp"
#include "models/kernels/neighbours.hpp"

namespace packsim {
namespace {

// Documents that together take less of a pack's time do not decide its evidence.
constexpr double kSmallShare = 0.02;

using Heads = AttentionNeighbour::Heads;
using Neighbour = AttentionNeighbour;

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
  keep_nearest(all, static_cast<std::size_t>(model.number("n_neighbours")));
  return all;
}

BaseTime base_of(const AttentionWork& work, const Heads& heads) {
  return [work, heads](double length) { return work.document_s(length, heads.heads, heads.kv_heads); };
}

// The time of a document from nearby head shapes. Their ratio to the model may fall with length faster than
// the model rises, but each of their curves rises. So the curves are averaged, each scaled to these heads by
// the model at its longest length.
CurveTime from_neighbours(const std::vector<Neighbour>& neighbours, const AttentionWork& work,
                          const Heads& heads, double length) {
  CurveTime mean{.evidence = Evidence::interpolated};
  for (const Neighbour& neighbour : neighbours) {
    const BaseTime base = base_of(work, neighbour.heads);
    const double longest = neighbour.curve->points.back().size;
    const double scale = work.document_s(longest, heads.heads, heads.kv_heads) / base(longest);
    const CurveTime time = curve_time(*neighbour.curve, length, base);
    mean.time_s += neighbour.weight * scale * time.time_s;
    mean.relative_error += neighbour.weight * time.relative_error;
    mean.evidence = std::max(mean.evidence, time.evidence);
  }
  if (neighbours.empty()) mean.time_s = work.document_s(length, heads.heads, heads.kv_heads);
  return mean;
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

AttentionDocuments::AttentionDocuments(const HardwareProfile& profile, const KernelModel& model,
                                       const AttentionHeads& heads, bool without_curve)
    : model_(&model),
      work_(attention_work(model)),
      heads_(heads),
      launch_s_(model.number("launch_s")),
      tail_s_per_token_(model.number("tail_s_per_token")) {
  const double measured_head_dim = key_number(model.key, "head_dim");
  head_dim_scale_ = heads.head_dim / measured_head_dim;
  const std::string pass(key_value(model.key, "pass"));
  const auto text = [](double value) { return std::to_string(std::llround(value)); };
  if (!without_curve) {
    curve_ = profile.curve("attention pass=" + pass + " heads=" + text(heads.heads) +
                           " kv_heads=" + text(heads.kv_heads) + " head_dim=" + text(measured_head_dim));
  }
  if (curve_ == nullptr) neighbours_ = neighbours_of(profile, model, {heads.heads, heads.kv_heads});
}

std::optional<AttentionDocuments> AttentionDocuments::of(const HardwareProfile& profile,
                                                         std::string_view pass, const AttentionHeads& heads) {
  const KernelModel* model = nearest_model(profile, pass, heads.head_dim);
  if (model == nullptr) return std::nullopt;
  return AttentionDocuments(profile, *model, heads, false);
}

CurveTime AttentionDocuments::document(double length_tokens) const {
  CurveTime time = curve_ != nullptr
                       ? curve_time(*curve_, length_tokens, base_of(work_, {heads_.heads, heads_.kv_heads}))
                       : from_neighbours(neighbours_, work_, {heads_.heads, heads_.kv_heads}, length_tokens);
  if (head_dim_scale_ != 1) time.evidence = std::max(time.evidence, Evidence::extrapolated);
  if (model_->transferred) time.evidence = std::max(time.evidence, Evidence::transferred);
  return time;
}

CurveTime AttentionDocuments::pack(const AttentionSum& documents) const {
  Evidence evidence = Evidence::measured;
  double worse_s = 0;
  for (std::size_t i = kNEvidenceLevels; i-- > 0;) {
    worse_s += documents.by_evidence_s[i];
    if (worse_s <= kSmallShare * documents.work_s) continue;
    evidence = static_cast<Evidence>(i);
    break;
  }
  const double longest_s = tail_s_per_token_ * documents.longest_tokens;
  return {
      head_dim_scale_ * attention_pack_s(launch_s_, longest_s, documents.work_s),
      together(documents.error_s / documents.work_s, pack_error(documents.longest_tokens)),
      outside(documents.longest_tokens) > 0 ? std::max(evidence, Evidence::extrapolated) : evidence,
  };
}

// How far the shape is beyond the measured ones, in e-folds; 0 inside, and for shapes with their own curve.
double AttentionDocuments::outside(double longest_tokens) const {
  if (curve_ != nullptr) return 0;
  // The curves know how far their lengths go; without any, the box does.
  const double length = neighbours_.empty() ? longest_tokens : model_->box.front().low;
  return beyond_box(*model_, {length, heads_.heads, heads_.heads / heads_.kv_heads});
}

// The relative error that a pack adds to those of its documents.
double AttentionDocuments::pack_error(double longest_tokens) const {
  // The products are linear in head_dim, the softmax between them does not depend on it. For FA3 forward on
  // an H100, 64 takes 0.62 of the time of 128 where 0.5 is linear.
  constexpr double kHeadDimError = 0.3;
  const double head_dim_error = kHeadDimError * std::abs(std::log(head_dim_scale_));
  if (curve_ != nullptr) return together(curve_->quality.rms, head_dim_error);
  const double unknown =
      model_->quality.left_out_rms > 0 ? model_->quality.left_out_rms : model_->quality.rms;
  return together(unknown, model_->end_error * outside(longest_tokens), head_dim_error);
}

std::string AttentionDocuments::basis() const {
  std::string text = curve_ != nullptr ? "curve " + curve_->key
                                       : "model of " + model_->key +
                                             (neighbours_.empty() ? "" : " with the nearest heads' curves");
  if (head_dim_scale_ != 1) text += ", scaled by head_dim";
  return text;
}

namespace {

AttentionHeads heads_of(const KernelCase& kernel) {
  return {kernel.number("heads"), kernel.number("kv_heads"), kernel.number("head_dim")};
}

KernelTime pack_time(const AttentionDocuments& attention, const Documents& documents) {
  AttentionSum sum;
  for (const DocumentRun& run : documents.runs) {
    const auto length = static_cast<double>(run.length_tokens);
    sum.add(attention.document(length), length, static_cast<double>(run.n_documents));
  }
  const CurveTime time = attention.pack(sum);
  return {.time_s = time.time_s,
          .relative_error = time.relative_error,
          .evidence = time.evidence,
          .basis = attention.basis()};
}

}  // namespace

KernelTime attention_heads_time(const HardwareProfile& profile, const KernelModel& model,
                                const KernelCase& kernel) {
  return pack_time(AttentionDocuments(profile, model, heads_of(kernel), true), kernel.documents("docs"));
}

std::optional<KernelTime> attention_time(const HardwareProfile& profile, const KernelCase& kernel) {
  const auto attention = AttentionDocuments::of(profile, kernel.value("pass"), heads_of(kernel));
  if (!attention) return std::nullopt;
  return pack_time(*attention, kernel.documents("docs"));
}

}  // namespace packsim
