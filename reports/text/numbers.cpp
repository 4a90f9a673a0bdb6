#include "reports/text/numbers.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

namespace packsim::formats_detail {
namespace {

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

// The number with three digits that matter, but never an exponent.
std::string three_digits(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.0995 ? 3 : 4;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string counted(std::int64_t n, std::string_view thing) {
  return fmt::format("{} {}{}", grouped(n), thing, n == 1 ? "" : "s");
}

std::string token_count(std::int64_t tokens) {
  struct Unit {
    double tokens;
    const char* suffix;
  };
  static constexpr std::array<Unit, 4> kUnits = {{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}}};
  for (const Unit& unit : kUnits) {
    // 999,950 reads 1.00M, not 1000k.
    if (static_cast<double>(tokens) >= 0.9995 * unit.tokens && tokens >= 1000) {
      return three_digits(static_cast<double>(tokens) / unit.tokens) + unit.suffix;
    }
  }
  return fmt::format("{}", tokens);
}

std::string capacity(std::int64_t tokens) {
  if (tokens >= 1024 && tokens % 1024 == 0) return fmt::format("{}K", tokens / 1024);
  return grouped(tokens);
}

std::string ratio(double fraction) {
  if (!std::isfinite(fraction)) return "-";
  if (fraction == 0) return "0";
  if (fraction > 0 && fraction < 0.0005) return "<0.001";
  return fmt::format("{:.3f}", fraction);
}

std::string percent(double fraction) {
  if (!std::isfinite(fraction)) return "-";
  if (fraction == 0) return "0%";
  if (fraction > 0 && fraction < 0.0005) return "<0.1%";
  return fmt::format("{:.1f}%", 100 * fraction);
}

std::string quantity(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  if (std::abs(value) < 0.00005) return fmt::format("{:.1e}", value);
  if (std::abs(value) >= 999.5 && std::abs(value) < 1e15) return grouped(std::llround(value));
  return three_digits(value);
}

std::string interval_note(double low, double high) {
  return low > 0 ? fmt::format(" (90%: {} to {})", quantity(low), quantity(high)) : "";
}

std::string gibibytes(double size_bytes) {
  return fmt::format("{:.1f}", size_bytes / kGibibyte);
}

std::string gibibytes_used(double peak_bytes, double available_bytes) {
  return fmt::format("{} of {} GiB", gibibytes(peak_bytes), gibibytes(available_bytes));
}

double with_digits(double value, int digits) {
  if (!std::isfinite(value)) return value;
  // std::stod would throw for values that are hardly above 0.
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

std::string micro_batches_text(std::optional<int> micro_batches_per_rank) {
  return micro_batches_per_rank ? grouped(*micro_batches_per_rank) : "-";
}

}  // namespace packsim::formats_detail
