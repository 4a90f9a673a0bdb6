#include <cstdint>

#include "reports/charts/data/chart_rows.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {

ChartRows length_rows(const Report& report) {
  const LengthSummary& lengths = report.lengths;
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0.0 : five_digits(static_cast<double>(part) / static_cast<double>(whole));
  };
  ChartRows rows = ChartRows::array();
  for (const LengthSummary::Bin& bin : lengths.histogram) {
    const bool single = bin.from_tokens + 1 == bin.to_tokens;
    rows.push_back({{"length", capacity(bin.to_tokens)},
                    {"range", single ? grouped(bin.to_tokens)
                                     : grouped(bin.from_tokens + 1) + " to " + grouped(bin.to_tokens)},
                    {"n_samples", bin.n_samples},
                    {"n_tokens", bin.n_tokens},
                    {"samples", share(bin.n_samples, lengths.n_samples)},
                    {"tokens", share(bin.n_tokens, lengths.n_tokens)}});
  }
  return rows;
}

}  // namespace packsim::formats_detail
