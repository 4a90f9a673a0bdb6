#include <algorithm>
#include <cmath>

#include "models/kernels/collectives.hpp"
#include "models/kernels/kernel_times.hpp"
#include "models/kernels/link_rates.hpp"

namespace packsim {
namespace {

struct MeasuredGroup {
  std::string op;
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;
};

std::string curve_key(const MeasuredGroup& group, std::string_view imbalance) {
  return "collective op=" + group.op + " gpus=" + std::to_string(group.gpus) +
         " nodes=" + std::to_string(group.nodes) + " imbalance=" + std::string(imbalance);
}

// Key of the model of all groups inside a node, or of all with as many GPUs on each of several nodes.
std::string model_key(const MeasuredGroup& group) {
  if (group.nodes == 1) return "collective op=" + group.op + " nodes=1";
  return "collective op=" + group.op + " gpus_per_node=" + std::to_string(group.gpus / group.nodes);
}

double log_between(double x, double low, double high) {
  return std::log(x / low) / std::log(high / low);
}

// Time that a larger group takes in addition to a measured smaller one. If all measured groups have one size,
// the model has no growth with GPUs, so the longer way round the ring is added.
double added_s(const KernelModel& model, const MeasuredGroup& group, const MeasuredGroup& measured,
               double bytes) {
  const auto n = static_cast<double>(group.gpus);
  const auto measured_n = static_cast<double>(measured.gpus);
  const double by_model_s =
      collective_model_s(model, group.op, n, bytes) - collective_model_s(model, group.op, measured_n, bytes);
  const bool is_one_size = model.box[0].low == model.box[0].high;
  if (!is_one_size) return by_model_s;
  return by_model_s + ring_latency_s(group.op, n, static_cast<double>(group.nodes)) -
         ring_latency_s(group.op, measured_n, static_cast<double>(measured.nodes));
}

// Even splits: the group's own curve, the curves of a smaller and a larger group, or the model.
std::optional<KernelTime> even_time(const HardwareProfile& profile, const MeasuredGroup& group,
                                    double bytes) {
  if (const KernelCurve* curve = profile.curve(curve_key(group, "1")))
    return with_basis(curve_time(*curve, bytes), "curve " + curve->key);
  const KernelModel* model = profile.model(model_key(group));
  const KernelCurve* smaller = nullptr;
  const KernelCurve* larger = nullptr;
  const auto gpus = [](const KernelCurve* curve) { return key_number(curve->key, "gpus"); };
  const auto group_of = [&](const KernelCurve* curve) {
    return MeasuredGroup{group.op, static_cast<std::int64_t>(gpus(curve)),
                         static_cast<std::int64_t>(key_number(curve->key, "nodes"))};
  };
  for (const KernelCurve* curve : profile.curves_of("collective op=" + group.op + " ")) {
    const MeasuredGroup other = group_of(curve);
    if (key_value(curve->key, "imbalance") != "1" || model_key(other) != model_key(group)) continue;
    if (other.gpus < group.gpus && (smaller == nullptr || gpus(curve) > gpus(smaller))) smaller = curve;
    if (other.gpus > group.gpus && (larger == nullptr || gpus(curve) < gpus(larger))) larger = curve;
  }
  const double group_error = model == nullptr ? 0.1 : std::max(0.02, model->quality.left_out_rms);
  const auto n = static_cast<double>(group.gpus);
  if (smaller != nullptr && larger != nullptr) {
    const CurveTime low = curve_time(*smaller, bytes);
    const CurveTime high = curve_time(*larger, bytes);
    const double part = log_between(n, gpus(smaller), gpus(larger));
    return KernelTime{std::exp((1 - part) * std::log(low.time_s) + part * std::log(high.time_s)),
                      together(std::max(low.relative_error, high.relative_error), group_error),
                      std::max({Evidence::interpolated, low.evidence, high.evidence}),
                      "between the curves " + smaller->key + " and " + larger->key};
  }
  if (model == nullptr) return std::nullopt;
  // Start from the nearest group, and let the model say what more or fewer GPUs change.
  const KernelCurve* nearest = smaller != nullptr ? smaller : larger;
  if (nearest == nullptr) return std::nullopt;
  const CurveTime near = curve_time(*nearest, bytes);
  const auto model_s = [&](double group_gpus, double payload) {
    return collective_model_s(*model, group.op, group_gpus, payload);
  };
  // More GPUs add the model's difference. For fewer, subtracting could exceed a small payload's time, so the
  // model's ratio at a middling payload scales it. Either way time rises with bytes.
  const double near_gpus = gpus(nearest);
  const double middle = std::sqrt(model->box[1].low * model->box[1].high);
  const double time_s = n > near_gpus ? near.time_s + added_s(*model, group, group_of(nearest), bytes)
                                      : near.time_s * model_s(n, middle) / model_s(near_gpus, middle);
  return KernelTime{
      time_s,
      together(near.relative_error, group_error, model->end_error * std::abs(std::log(n / near_gpus))),
      std::max(Evidence::extrapolated, near.evidence),
      "curve " + nearest->key + " and the model of " + model->key};
}

std::optional<KernelTime> measured_collective_time(const HardwareProfile& profile, const KernelCase& kernel) {
  const MeasuredGroup group{kernel.value("op"), kernel.integer("gpus"), kernel.integer("nodes")};
  const double bytes = kernel.number("bytes");
  const double imbalance = kernel.number("imbalance");
  if (group.gpus == 1) {
    // Nothing is exchanged.
    return KernelTime{0, 0, Evidence::measured, "one GPU exchanges nothing"};
  }
  if (const KernelCurve* curve = profile.curve(curve_place(kernel).key))
    return with_basis(curve_time(*curve, bytes), "curve " + curve->key);
  if (imbalance == 1) return even_time(profile, group, bytes);

  // Uneven splits are interpolated linearly between the measured imbalances of this group. Beyond them, and
  // where none was measured, the others wait for the GPU that receives most.
  const KernelCurve* low = nullptr;
  const KernelCurve* high = nullptr;
  const auto imbalance_of = [](const KernelCurve* curve) { return key_number(curve->key, "imbalance"); };
  const std::string any = curve_key(group, "");
  for (const KernelCurve* curve : profile.curves_of(any)) {
    const double value = imbalance_of(curve);
    if (value < imbalance && (low == nullptr || value > imbalance_of(low))) low = curve;
    if (value > imbalance && (high == nullptr || value < imbalance_of(high))) high = curve;
  }
  if (low != nullptr && high != nullptr) {
    const CurveTime from = curve_time(*low, bytes);
    const CurveTime to = curve_time(*high, bytes);
    const double part = (imbalance - imbalance_of(low)) / (imbalance_of(high) - imbalance_of(low));
    return KernelTime{(1 - part) * from.time_s + part * to.time_s,
                      std::max(from.relative_error, to.relative_error),
                      std::max({Evidence::interpolated, from.evidence, to.evidence}),
                      "between the curves " + low->key + " and " + high->key};
  }
  std::optional<KernelTime> even;
  double ratio = imbalance;
  if (low != nullptr && imbalance_of(low) > 1) {
    ratio = imbalance / imbalance_of(low);
    even = with_basis(curve_time(*low, bytes * ratio), "curve " + low->key);
  } else {
    even = even_time(profile, group, bytes * imbalance);
  }
  if (!even) return std::nullopt;
  even->evidence = std::max(even->evidence, Evidence::extrapolated);
  // Up to a third of what the larger payload adds may be hidden or added by the GPUs that wait.
  even->relative_error = together(even->relative_error, (1 - 1 / ratio) / 3);
  even->basis += ", with the payload of the GPU that receives most";
  return even;
}

// Scales the time with the links, except what a payload of one byte takes.
KernelTime on_links(const HardwareProfile& profile, const KernelCase& kernel, KernelTime time) {
  const auto scaling = profile.links->families.find(kernel_family(kernel));
  if (scaling == profile.links->families.end()) return time;
  const LinkScaling& links = scaling->second;
  const double from_s = link_time_s(links.measured, kernel);
  const double to_s = link_time_s(profile.links->rates, kernel);
  const double factor = from_s > 0 && to_s > 0 ? to_s / from_s : 1;
  if (factor == 1 && links.is_same_gpu) return time;
  const std::optional<KernelTime> least = measured_collective_time(profile, kernel.with("bytes", "1"));
  const double fixed_s = std::min(time.time_s, least->time_s);
  const double work_s = (time.time_s - fixed_s) * factor;
  time.time_s = fixed_s + work_s;
  time.relative_error = together(
      time.relative_error, together(fixed_s * links.latency_error, work_s * links.work_error) / time.time_s);
  time.evidence = std::max(time.evidence, Evidence::transferred);
  time.basis += ", scaled to the cluster's links";
  return time;
}

std::optional<KernelTime> scaled_collective_time(const HardwareProfile& profile, const KernelCase& kernel) {
  std::optional<KernelTime> time = measured_collective_time(profile, kernel);
  if (!time || !profile.links || kernel.integer("gpus") == 1) return time;
  return on_links(profile, kernel, *std::move(time));
}

// An all-gather is a reduce-scatter run backwards: over a ring both send the same bytes over the same links.
// Where one of them alone was measured, it stands for the other.
std::optional<KernelTime> mirrored_time(const HardwareProfile& profile, const KernelCase& kernel) {
  const std::string op = kernel.value("op");
  const std::string mirror(collective_kind(op).gradient);
  if (mirror == op) return std::nullopt;
  std::optional<KernelTime> time = scaled_collective_time(profile, kernel.with("op", mirror));
  if (!time) return std::nullopt;
  // The rms of log(reduce-scatter / all-gather) from 64 MiB on, in 36 pairs on 2 to 8 H100 of
  // calibration/data/h100-public-collectives.jsonl.
  constexpr double kMirrorError = 0.04;
  time->relative_error = together(time->relative_error, kMirrorError);
  time->evidence = std::max(time->evidence, Evidence::extrapolated);
  time->basis += ", as its mirror image";
  return time;
}

}  // namespace

double sent_per_payload_byte(std::string_view op, double gpus) {
  const CollectiveKind& kind = collective_kind(op);
  if (kind.algorithm.sends_whole_payload) return 1;
  return kind.passes * (gpus - 1) / gpus;
}

double collective_model_s(double fixed_s, double gpu_s, double bytes_per_s, std::string_view op, double gpus,
                          double bytes) {
  return fixed_s + gpu_s * gpus + sent_per_payload_byte(op, gpus) * bytes / bytes_per_s;
}

double collective_model_s(const KernelModel& model, std::string_view op, double gpus, double bytes) {
  return collective_model_s(model.number("fixed_s"), model.number("gpu_s"), model.number("bytes_per_s"), op,
                            gpus, bytes);
}

double ring_latency_s(std::string_view op, double gpus, double nodes) {
  // NCCL's model of rings with the protocol LL128, on NVLink and on the network (hwLat in src/graph/tuning.cc
  // at b6475625, BSD-3-Clause). NCCL takes the protocol with the least sum of latency and time of bytes; with
  // Simple, whose hops take 3.4 and 14 us, bytes take 8 % less time.
  constexpr double kNvlinkHopS = 1.9e-6;
  constexpr double kNetworkHopS = 4.0e-6;
  const CollectiveKind& kind = collective_kind(op);
  if (!kind.algorithm.passes_on || kind.receives_whole_payload) return 0;
  const double network_hops = nodes - 1;
  return (gpus - 1 - network_hops) * kNvlinkHopS + network_hops * kNetworkHopS;
}

std::optional<KernelTime> collective_time(const HardwareProfile& profile, const KernelCase& kernel) {
  const std::optional<KernelTime> time = scaled_collective_time(profile, kernel);
  return time ? time : mirrored_time(profile, kernel);
}

}  // namespace packsim
