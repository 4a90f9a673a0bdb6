#include "models/kernels/transfer_profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <stdexcept>

#include "models/kernels/kernel_times.hpp"
#include "models/kernels/link_rates.hpp"
#include "models/network/network_rates.hpp"

namespace packsim {
namespace {

// Used where the profile has no model of matrix products: the launch of a kernel, and what an H100 reaches.
constexpr GemmNumbers kUsualGemm = {.launch_s = 3e-6, .s_per_flop = 1 / 700e12, .s_per_byte = 1 / 2.7e12};

// The L2 cache of a GPU whose file does not state it.
constexpr double kUsualL2Bytes = 50e6;

// The peak that counts for products of a case or curve.
std::string_view peak_format(std::string_view dtype) {
  return precision_of_dtype(dtype).peak;
}

// Factors on the time of a kernel's work when it runs on another GPU.
struct WorkFactors {
  double product = 1;    // of flop in matrix products
  double attention = 1;  // of all work of attention
  double memory = 1;     // of bytes in the GPU's memory
  double sm = 1;         // of what multiprocessors do beside products
  double host = 1;       // of bytes between host and GPU
};

// The kernels of libraries whose warps issue their own products, as those for an A100 do.
constexpr std::array<std::string_view, 2> kWarpProductLibraries = {"fa2", "flash-attention-2"};

bool issues_warp_products(std::string_view library) {
  return std::ranges::any_of(kWarpProductLibraries,
                             [&](std::string_view start) { return library.starts_with(start); });
}

double ratio(std::optional<double> from, std::optional<double> to) {
  return from && to && *from > 0 && *to > 0 ? *from / *to : 1;
}

// Cycles of all multiprocessors in a second.
std::optional<double> sm_cycles_per_s(const Gpu& gpu) {
  return gpu.n_sms && gpu.sm_clock_hz ? std::optional(*gpu.n_sms * *gpu.sm_clock_hz) : std::nullopt;
}

WorkFactors work_factors(const Gpu& from, const Gpu& to, std::optional<double> host_bytes_per_s,
                         std::string_view library, std::string_view format, double compute_exponent) {
  const double peaks = ratio(from.peak(format), to.peak(format));
  const double shares = issues_warp_products(library) ? from.warp_product_share / to.warp_product_share : 1;
  const double memory = ratio(from.memory_bytes_per_s, to.memory_bytes_per_s);
  const bool are_sms_known = sm_cycles_per_s(from) && sm_cycles_per_s(to);
  return {.product = std::pow(peaks, compute_exponent),
          .attention = std::pow(peaks * shares, compute_exponent),
          .memory = memory,
          .sm = are_sms_known ? ratio(sm_cycles_per_s(from), sm_cycles_per_s(to)) : memory,
          .host = ratio(from.pcie_bytes_per_s, host_bytes_per_s)};
}

GemmNumbers slower(const GemmNumbers& numbers, const WorkFactors& factors) {
  return {.launch_s = numbers.launch_s,
          .s_per_flop = numbers.s_per_flop * factors.product,
          .s_per_output = numbers.s_per_output * factors.product,
          .s_per_byte = numbers.s_per_byte * factors.memory};
}

// An elementwise kernel waits for its bytes and for the multiprocessors, partly at once.
double elementwise_factor(const WorkFactors& factors, double bytes_s, double work_s) {
  const double memory_part = work_s > 0 ? std::min(1.0, bytes_s / work_s) : 1;
  const double sm_part = std::sqrt(1 - memory_part * memory_part);
  return std::hypot(memory_part * factors.memory, sm_part * factors.sm);
}

// A time of which a part is fixed.
struct SplitTime {
  double fixed_s = 0;
  double work_s = 0;
};

// The relative error of a sum whose parts err independently.
double error_of(const SplitTime& time, double fixed_error, double work_error) {
  const double total_s = time.fixed_s + time.work_s;
  return total_s > 0 ? together(time.fixed_s * fixed_error, time.work_s * work_error) / total_s : work_error;
}

// Drivers' names begin with the maker's.
std::string_view maker_of(const Gpu& gpu) {
  return std::string_view(gpu.driver_name).substr(0, gpu.driver_name.find(' '));
}

// Whether the files say the same multiprocessors, clock, peak and power limit of both.
bool are_of_one_chip(const Gpu& from, const Gpu& to) {
  const auto is_equal = [](std::optional<double> a, std::optional<double> b) {
    return a && b && std::abs(*a / *b - 1) < 1e-3;
  };
  return maker_of(from) == maker_of(to) && from.n_sms == to.n_sms &&
         is_equal(sm_cycles_per_s(from), sm_cycles_per_s(to)) &&
         is_equal(from.peak("bf16"), to.peak("bf16")) && is_equal(from.power_w, to.power_w);
}

TransferNumbers of_pair(TransferNumbers numbers, const Gpu& from, const Gpu& to) {
  if (are_of_one_chip(from, to)) {
    numbers.product_error = numbers.same_chip_product_error;
    numbers.attention_error = numbers.same_chip_attention_error;
    numbers.memory_error = numbers.same_chip_memory_error;
  } else if (maker_of(from) != maker_of(to)) {
    for (double* error : {&numbers.product_error, &numbers.attention_error, &numbers.memory_error})
      *error = numbers.other_maker_error;
  }
  return numbers;
}

class ProfileTransfer {
 public:
  ProfileTransfer(const HardwareProfile& profile, const Gpu& measured, const Cluster& cluster,
                  const TransferNumbers& numbers)
      : profile_(profile),
        measured_(measured),
        cluster_(cluster),
        numbers_(of_pair(numbers, measured, cluster.gpu)) {}

  HardwareProfile transferred() {
    HardwareProfile result = profile_;
    for (KernelModel& model : result.models) change(model);
    for (KernelCurve& curve : result.curves) change(curve);
    result.gpu = cluster_.gpu.driver_name;
    result.links = links();
    return result;
  }

 private:
  bool is_same_gpu() const { return measured_.driver_name == cluster_.gpu.driver_name; }

  // item: a curve or a model.
  template <typename Item>
  WorkFactors factors(const Item& item) const {
    return work_factors(measured_, cluster_.gpu, cluster_.host_link_bytes_per_s, item.library,
                        peak_format(key_value(item.key, "dtype")), numbers_.compute_exponent);
  }

  static void scale(KernelModel& model, std::string_view name, double factor) {
    const auto at = std::ranges::find(model.numbers, name, &FittedNumber::name);
    if (at == model.numbers.end()) return;
    at->value *= factor;
    at->standard_error *= factor;
  }

  void change(KernelModel& model) const {
    const std::string_view kind = std::string_view(model.key).substr(0, model.key.find(' '));
    const WorkFactors work = factors(model);
    if (kind == "gemm" && !is_same_gpu()) {
      scale(model, "flop_per_s", 1 / work.product);
      scale(model, "s_per_output", work.product);
      scale(model, "bytes_per_s", 1 / work.memory);
      model.quality.left_out_rms = together(model.quality.left_out_rms, numbers_.product_error);
      model.quality.rms = together(model.quality.rms, numbers_.product_error);
      model.transferred = true;
    }
    if (kind == "attention" && !is_same_gpu()) {
      for (const char* name :
           {"tail_s_per_token", "s_per_pair", "s_per_token", "s_per_document", "s_per_kv_token"})
        scale(model, name, work.attention);
      // Without other curves nearby, the model's error is all that counts.
      if (model.number("n_neighbours") == 0)
        model.quality.left_out_rms = together(model.quality.left_out_rms, numbers_.attention_error);
      model.transferred = true;
    }
  }

  void change(KernelCurve& curve) const {
    const std::string_view kind = std::string_view(curve.key).substr(0, curve.key.find(' '));
    if (is_same_gpu() || kind == "collective" || kind == "launch_gap" || kind == "step") return;
    const WorkFactors work = factors(curve);
    if (kind == "gemm") {
      const GemmNumbers from = gemm_of(curve);
      const GemmNumbers to = slower(from, work);
      const bool by_k = curve.size_name == "k";
      const double n = key_number(curve.key, "n");
      const double other = key_number(curve.key, by_k ? "m" : "k");
      const auto model_s = [&](const GemmNumbers& numbers, double size) {
        return gemm_model_s(numbers, by_k ? other : size, n, by_k ? size : other) - numbers.launch_s;
      };
      change_points(curve, from.launch_s, numbers_.product_error,
                    [&](double size, double) { return model_s(to, size) / model_s(from, size); });
      return;
    }
    // The curve of attention is work alone, without launch.
    if (kind == "attention") {
      change_points(curve, 0, numbers_.attention_error, [&](double, double) { return work.attention; });
      return;
    }
    const double launch_s = kUsualGemm.launch_s;
    if (kind == "elementwise" && measured_.memory_bytes_per_s) {
      const double rate = numbers_.memory_share * *measured_.memory_bytes_per_s;
      change_points(curve, launch_s, numbers_.memory_error, [&](double bytes, double work_s) {
        return elementwise_factor(work, bytes / rate, work_s);
      });
      return;
    }
    const bool is_host_copy = kind == "copy" && key_value(curve.key, "kind") != "device";
    change_points(curve, launch_s, numbers_.memory_error,
                  [&](double, double) { return is_host_copy ? work.host : work.memory; });
  }

  GemmNumbers gemm_of(const KernelCurve& curve) const {
    std::string key = "gemm";
    for (const char* name : {"layout", "cache", "dtype"}) {
      const std::string value(key_value(curve.key, name));
      if (!value.empty()) key += " " + std::string(name) + "=" + value;
    }
    const KernelModel* model = profile_.model(key);
    return model == nullptr ? kUsualGemm : gemm_numbers(*model);
  }

  // The network cards of a GPU that collectives of a family were measured over; 0: not known.
  double measured_nic_bytes_per_s(const std::vector<std::string>& sources) const {
    for (const std::string& id : sources) {
      const auto at = std::ranges::find(profile_.sources, id, &MeasurementSource::id);
      if (at != profile_.sources.end() && at->nic_bytes_per_s_of_gpu()) return *at->nic_bytes_per_s_of_gpu();
    }
    return 0;
  }

  ClusterLinks links() const {
    ClusterLinks links{.rates = link_rates(cluster_)};
    const LinkScaling of_gpu = link_scaling();
    const auto add = [&](const auto& item) {
      if (!item.key.starts_with("collective ")) return;
      LinkScaling& family = links.families.try_emplace(kernel_family(item.key), of_gpu).first->second;
      if (family.measured.nic_bytes_per_s == 0)
        family.measured.nic_bytes_per_s = measured_nic_bytes_per_s(item.sources);
    };
    for (const KernelCurve& curve : profile_.curves) add(curve);
    for (const KernelModel& model : profile_.models) add(model);
    return links;
  }

  LinkScaling link_scaling() const {
    const auto gpu_rate = [](const Gpu& gpu) {
      const double nvlink = gpu.nvlink_bytes_per_s.value_or(0);
      return nvlink > 0 ? nvlink : gpu.pcie_bytes_per_s.value_or(0);
    };
    // A cluster may leave out the bridges that its GPUs could have.
    const auto is_nvlink = [](double bytes_per_s, const Gpu& gpu) {
      return bytes_per_s > gpu.pcie_bytes_per_s.value_or(0);
    };
    const double cluster_nvlink = network_rates(cluster_).gpu_bytes_per_s;
    const double cluster_rate = cluster_nvlink > 0 ? cluster_nvlink : gpu_rate(cluster_.gpu);
    const bool are_alike = is_nvlink(gpu_rate(measured_), measured_) == is_nvlink(cluster_rate, cluster_.gpu);
    return {.measured = {.gpu_bytes_per_s = gpu_rate(measured_), .switch_adds = measured_.nvlink_switch_adds},
            .is_same_gpu = is_same_gpu(),
            .work_error = are_alike ? numbers_.link_error : numbers_.other_link_error,
            .latency_error = numbers_.latency_error};
  }

  void change_points(KernelCurve& curve, double fixed_s, double work_error,
                     const std::function<double(double size, double work_s)>& factor) const {
    double last_s = 0;
    double last_factor = 1;
    for (CurvePoint& point : curve.points) {
      SplitTime time{.fixed_s = std::min(fixed_s, point.time_s)};
      time.work_s = point.time_s - time.fixed_s;
      last_factor = factor(point.size, time.work_s);
      time.work_s *= last_factor;
      point.time_s = std::max(last_s, time.fixed_s + time.work_s);
      point.relative_error =
          together(point.relative_error, error_of(time, numbers_.latency_error, work_error));
      last_s = point.time_s;
    }
    curve.size_per_s.value /= last_factor;
    curve.size_per_s.standard_error /= last_factor;
    curve.transferred = true;
  }

  const HardwareProfile& profile_;
  const Gpu& measured_;
  const Cluster& cluster_;
  TransferNumbers numbers_;
};

}  // namespace

double flash_attention_2_change(const HardwareProfile& hardware, const Gpu& gpu) {
  if (!hardware.data_sheet) return 1;
  const std::vector<const KernelCurve*> curves = hardware.curves_of("attention ");
  const bool is_scaled = !curves.empty() && issues_warp_products(curves.front()->library);
  return is_scaled ? 1 : hardware.data_sheet->warp_product_share / gpu.warp_product_share;
}

HardwareProfile transfer_profile(const HardwareProfile& profile, const Gpu& measured, const Cluster& cluster,
                                 const TransferNumbers& numbers) {
  return ProfileTransfer(profile, measured, cluster, numbers).transferred();
}

namespace {

HardwareProfile own_kernels_on(const HardwareProfile& profile, const Cluster& cluster) {
  if (profile.links) throw std::logic_error("hardware profile " + profile.name + " is on a cluster already");
  if (profile.data_sheet) return transfer_profile(profile, *profile.data_sheet, cluster);
  if (profile.gpu == cluster.gpu.driver_name) return transfer_profile(profile, cluster.gpu, cluster);
  throw std::invalid_argument("hardware profile " + profile.name + " was measured on " + profile.gpu +
                              ", of which models/gpus has no file");
}

}  // namespace

HardwareProfile profile_on(const HardwareProfile& profile, const Cluster& cluster) {
  HardwareProfile own = own_kernels_on(profile, cluster);
  return profile.stand_in ? with_missing_families(own, profile_on(*profile.stand_in, cluster)) : own;
}

double least_kernel_s(const Gpu& gpu, const KernelCase& kernel) {
  const std::string_view kind = kernel.kernel();
  if (kind == "collective" || kind == "overlap" || (kind == "copy" && kernel.value("kind") != "device"))
    return 0;
  const std::optional<double> peak = gpu.peak(kind == "gemm" ? peak_format(kernel.value("dtype")) : "bf16");
  const double flop_s = peak ? kernel_flop(kernel) / *peak : 0;
  if (!gpu.memory_bytes_per_s) return flop_s;
  const double bytes = std::max(0.0, kernel_bytes(kernel) - gpu.l2_bytes.value_or(kUsualL2Bytes));
  return std::max(flop_s, bytes / *gpu.memory_bytes_per_s);
}

HardwareProfile with_missing_families(const HardwareProfile& profile, const HardwareProfile& other) {
  std::set<std::string> known;
  for (const KernelCurve& curve : profile.curves) known.insert(kernel_family(curve.key));
  for (const KernelModel& model : profile.models) known.insert(kernel_family(model.key));
  HardwareProfile all = profile;
  if (!all.links) {
    all.links = other.links;
  } else if (other.links) {
    // Families that the profile has keep their own scaling.
    all.links->families.insert(other.links->families.begin(), other.links->families.end());
  }
  std::set<std::string> sources;
  const auto is_missing = [&](const auto& item) { return !known.contains(kernel_family(item.key)); };
  const auto add = [&](auto& items, const auto& others) {
    for (const auto& item : others) {
      if (!is_missing(item)) continue;
      items.push_back(item);
      sources.insert(item.sources.begin(), item.sources.end());
    }
    std::ranges::sort(items, {}, [](const auto& item) -> const std::string& { return item.key; });
  };
  add(all.models, other.models);
  add(all.curves, other.curves);
  for (const MeasurementSource& source : other.sources) {
    const bool is_known =
        std::ranges::find(all.sources, source.id, &MeasurementSource::id) != all.sources.end();
    if (sources.contains(source.id) && !is_known) all.sources.push_back(source);
  }
  std::ranges::sort(all.sources, {}, &MeasurementSource::id);
  return all;
}

}  // namespace packsim
