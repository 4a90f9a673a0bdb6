#include "models/step/kernel_pricer.hpp"

#include <algorithm>
#include <cmath>

#include "models/kernels/collectives.hpp"
#include "models/kernels/curve_time.hpp"
#include "models/kernels/kernel_times.hpp"
#include "models/kernels/make_case.hpp"
#include "models/kernels/narrow_gemm_time.hpp"
#include "models/kernels/transfer_profile.hpp"
#include "models/step/extrapolation_error.hpp"
#include "models/step/reached_rates.hpp"

namespace packsim {
namespace {

// What transfers are assumed to reach of a stated rate.
constexpr double kShareOfStatedRate = 0.75;
// Used where neither the profile nor the cluster says anything: a network card of 400 Gb/s, PCIe of the fifth
// generation, NVLink of an H100.
constexpr double kNicBytesPerS = 50e9;
constexpr double kHostBytesPerS = 64e9;
constexpr double kNvlinkBytesPerS = 450e9;
constexpr double kLaunchS = 5e-6;

double or_else(double value, double other) {
  return value > 0 ? value : other;
}

// Time that the slowest links need at their stated rates, whatever the algorithm: NVLink inside a node,
// network cards between nodes, and uplinks between as few switches as the nodes can be under. 0 where nothing
// has to pass, or the cluster does not state the rates.
double links_time_s(const NetworkRates& rates, const KernelCase& kernel) {
  const double gpus = kernel.number("gpus");
  const double nodes = kernel.number("nodes");
  const double bytes = kernel.number("bytes");
  const CollectiveKind& kind = collective_kind(kernel.value("op"));
  // Time between `parts` equal parts of the GPUs, each of which has this rate for each of its GPUs.
  const auto part_s = [&](double parts, double gpu_bytes_per_s) {
    if (parts < 2 || gpu_bytes_per_s <= 0) return 0.0;
    // The share of the payload that has to reach a part from the others.
    const double passing = kind.receives_whole_payload ? 1 : (parts - 1) / parts;
    // What the GPUs of a part have in common passes once.
    return bytes * passing / ((kind.algorithm.passes_on ? gpus / parts : 1) * gpu_bytes_per_s);
  };
  if (nodes < 2) return part_s(gpus, rates.gpu_bytes_per_s);
  double slowest_s = 0;
  for (const PartRate& part : rates.parts)
    slowest_s = std::max(slowest_s, part_s(std::ceil(nodes / part.nodes), part.gpu_bytes_per_s));
  return slowest_s > 0 ? slowest_s + rates.latency_s : 0;
}

KernelTime extrapolated(double time_s, double relative_error, const std::string& basis) {
  return {.time_s = time_s,
          .relative_error = together(relative_error, kExtrapolationError),
          .evidence = Evidence::missing,
          .basis = basis};
}

}  // namespace

CurveName curve_name(const KernelCase& kernel) {
  return {.family = kernel_family(kernel), .key = curve_place(kernel).key};
}

KernelPricer::KernelPricer(const HardwareProfile& profile, const Cluster& cluster)
    : profile_(profile), cluster_(cluster), network_(network_rates(cluster)), shapes_(profile_) {}

// Hardly any ops of the same sizes differ in more than the length of their names.
std::size_t KernelPricer::OpPassHash::operator()(const OpPass& pass) const {
  constexpr std::size_t kOdd = 0x9E3779B97F4A7C15;
  std::size_t hash = pass.op.size();
  for (const std::int64_t size : {pass.rows, pass.out, pass.in, pass.bytes})
    hash = (hash ^ static_cast<std::size_t>(size)) * kOdd;
  hash += 2 * static_cast<std::size_t>(pass.kind) + (pass.is_backward ? 1 : 0);
  return hash ^ (hash >> 32U);
}

const PricedKernel& KernelPricer::time(const KernelCase& kernel) {
  const auto [place, is_new] = known_.try_emplace(kernel.text());
  if (is_new) place->second = price(kernel);
  return place->second;
}

const PricedKernel& KernelPricer::send(int n_nodes, std::int64_t size_bytes) {
  const PricedKernel*& known = known_sends_[{n_nodes, size_bytes}];
  if (known == nullptr) known = &time(collective_case("send_recv", 2, n_nodes, size_bytes));
  return *known;
}

const PricedKernel& KernelPricer::copy(std::string_view kind, std::int64_t size_bytes) {
  const PricedKernel*& known = known_copies_[{kind, size_bytes}];
  if (known == nullptr) known = &time(copy_case(kind, size_bytes));
  return *known;
}

std::vector<std::string> KernelPricer::asked_for() const {
  std::vector<std::string> texts;
  for (const auto& [text, kernel] : known_) texts.push_back(text);
  std::ranges::sort(texts);
  return texts;
}

const std::vector<KernelPricer::Use>& KernelPricer::uses(const LayerOp& op, bool is_backward) {
  const auto [place, is_new] = known_uses_.try_emplace({op.kind,
                                                        is_backward,
                                                        op.backward_only,
                                                        op.frozen,
                                                        op.gpus,
                                                        op.nodes,
                                                        op.count,
                                                        op.rows,
                                                        op.out,
                                                        op.in,
                                                        op.bytes,
                                                        {op.op},
                                                        {op.dtype},
                                                        op.casts,
                                                        op.style});
  if (!is_new) return place->second;
  for (const CountedKernel& kernel : is_backward ? backward_kernels(op) : forward_kernels(op))
    place->second.push_back({&time(kernel.kernel), kernel.count});
  return place->second;
}

PricedKernel KernelPricer::price(const KernelCase& kernel) {
  KernelTime time = known_kernel_time(profile_, cluster_.gpu, kernel, shapes_);
  if (time.evidence == Evidence::missing && kernel.kernel() != "launch_gap") time = extrapolate(kernel);
  if (const double least_s = least_kernel_s(cluster_.gpu, kernel); time.time_s < least_s) {
    time.time_s = least_s;
    time.basis += ", raised to what the GPU's peak and memory rate allow";
  }
  const double kernel_s = time.time_s;
  const double links_s = kernel.kernel() == "collective" ? links_time_s(network_, kernel) : 0;
  if (kernel_s < links_s) {
    const double share = profile_.links ? 1 : kShareOfStatedRate;
    time = extrapolated(links_s / share, time.relative_error, "the cluster's links: " + time.basis);
  }
  return {time, kernel, curve_name(kernel), kernel_s};
}

double KernelPricer::memory_bytes_per_s() const {
  double fastest = 0;
  for (const char* start : {"copy kind=device", "elementwise "}) {
    for (const KernelCurve* curve : profile_.curves_of(start)) {
      if (curve->size_name == "bytes" && curve->size_per_s.value > 0)
        fastest = std::max(fastest, curve->size_per_s.value);
    }
    if (fastest > 0) return fastest;
  }
  return reached_memory_bytes_per_s(cluster_);
}

KernelTime KernelPricer::extrapolate(const KernelCase& kernel) {
  const std::string_view kind = kernel.kernel();
  if (kind == "collective") return extrapolate_collective(kernel);
  if (kind == "elementwise" && kernel.value("pass") == "bwd") {
    const KernelCase forward = kernel.with("pass", "fwd");
    const KernelTime time = kernel_time(profile_, forward, shapes_);
    if (time.evidence != Evidence::missing) {
      return extrapolated(time.time_s * kernel_bytes(kernel) / kernel_bytes(forward), time.relative_error,
                          "the bytes of the backward kernel at the speed of the forward one: " + time.basis);
    }
  }
  if (kind == "copy" && kernel.value("kind") != "device") {
    const double rate = kShareOfStatedRate * cluster_.host_link_bytes_per_s.value_or(kHostBytesPerS);
    return extrapolated(kLaunchS + kernel_bytes(kernel) / rate, 0, "the cluster's host link");
  }
  const double memory_s = kernel_bytes(kernel) / memory_bytes_per_s();
  if (kind == "gemm") {
    return extrapolated(
        kLaunchS + std::max(memory_s, kernel_flop(kernel) / reached_gemm_flop_per_s(cluster_)), 0,
        "the flop at half of the GPU's peak");
  }
  return extrapolated(kLaunchS + memory_s, 0, "the bytes at the profile's memory rate");
}

KernelTime KernelPricer::extrapolate_collective(const KernelCase& kernel) {
  const CollectiveKind& kind = collective_kind(kernel.value("op"));
  const double gpus = kernel.number("gpus");
  const double nodes = kernel.number("nodes");
  const double bytes = kernel.number("bytes") * kernel.number("imbalance");
  const double gpus_in_node = gpus / nodes;
  const double nvlink = kShareOfStatedRate * or_else(network_.gpu_bytes_per_s, kNvlinkBytesPerS);
  const double nic = or_else(network_.nic_bytes_per_s(), kNicBytesPerS);
  if (nodes > 1 && !kind.half_of.empty()) {
    const KernelTime both = kernel_time(profile_, kernel.with("op", kind.half_of), shapes_);
    if (both.evidence != Evidence::missing)
      return extrapolated(both.time_s / 2, both.relative_error, "half an all-reduce: " + both.basis);
  }
  if (nodes > 1 && kind.algorithm.sends_each_its_part) {
    const double inside_s = bytes * (gpus_in_node - 1) / gpus / nvlink;
    const double outside_bytes = bytes * (gpus - gpus_in_node) / gpus;
    const KernelTime sent = kernel_time(
        profile_, collective_case("send_recv", 2, 2, std::max<std::int64_t>(1, std::llround(outside_bytes))));
    const double outside_s = sent.evidence == Evidence::missing
                                 ? kLaunchS + outside_bytes / (kShareOfStatedRate * nic)
                                 : sent.time_s;
    return extrapolated(std::max(inside_s, outside_s), sent.relative_error,
                        "what leaves the node, one send after another: " + sent.basis);
  }
  // The network cards of all its GPUs in a node carry what one ring sends.
  const double rate = nodes == 1 ? nvlink : std::min(nvlink, kShareOfStatedRate * gpus_in_node * nic);
  return extrapolated(kLaunchS * gpus + bytes * sent_per_payload_byte(kind.name, gpus) / rate, 0,
                      "the cluster's stated rates");
}

}  // namespace packsim
