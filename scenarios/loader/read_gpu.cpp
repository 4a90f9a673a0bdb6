#include <array>

#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

constexpr std::array<std::string_view, 6> kNumberFormats = {"bf16", "fp16", "fp8", "mxfp8", "nvfp4", "tf32"};

std::optional<double> optional_number(JsonReader& reader, std::string_view key) {
  return reader.has(key) ? std::optional(reader.number(key, 0)) : std::nullopt;
}

}  // namespace

Gpu read_gpu(JsonReader reader) {
  constexpr std::int64_t kMostMemoryBytes = std::int64_t{1} << 50;
  constexpr int kMostSms = 1 << 20;
  reader.integer("format", 1, 1);
  reader.string("$schema", "");  // for editors
  Gpu gpu{.name = reader.string("name"),
          .source = reader.string("source"),
          .driver_name = reader.string("driver_name")};
  gpu.hardware = reader.string("hardware", "");
  JsonReader peaks = reader.object("peak_flop_per_s");
  if (!peaks.silent()) {
    for (const std::string_view format : kNumberFormats) {
      const std::optional<double> peak =
          format == "bf16" ? peaks.positive(format) : peaks.optional_positive(format);
      if (peak) gpu.peak_flop_per_s.emplace(format, *peak);
    }
  }
  if (reader.has("warp_product_share")) gpu.warp_product_share = reader.positive("warp_product_share");
  gpu.memory_bytes = reader.integer("memory_bytes", 1, kMostMemoryBytes);
  gpu.memory_bytes_per_s = reader.positive("memory_bytes_per_s");
  gpu.l2_bytes = reader.optional_positive("l2_bytes");
  gpu.n_sms = reader.optional_integer("n_sms", 1, kMostSms);
  gpu.sm_clock_hz = reader.optional_positive("sm_clock_hz");
  gpu.nvlink_bytes_per_s = optional_number(reader, "nvlink_bytes_per_s");
  gpu.nvlink_switch_adds = reader.boolean("nvlink_switch_adds", false);
  gpu.pcie_bytes_per_s = reader.optional_positive("pcie_bytes_per_s");
  gpu.power_w = reader.optional_positive("power_w");
  return gpu;
}

}  // namespace packsim
