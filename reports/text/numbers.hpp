#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "experiment/results/grouped.hpp"

/// Numbers as people read them. Machine-readable formats do not use these.
namespace packsim::formats_detail {

using packsim::grouped;
std::string counted(std::int64_t n, std::string_view thing);  ///< 1 pack, 1,500 packs
std::string token_count(std::int64_t tokens);                 ///< 0, 999, 12.3k, 4.56M, 1.24B: powers of 1000
std::string capacity(std::int64_t tokens);                    ///< 128K where a multiple of 1024, else 1,500
std::string ratio(double fraction);                  ///< 0.025; 0 only where it is zero, else at least <0.001
std::string percent(double fraction);                ///< 2.5%; 0% only where it is zero, else at least <0.1%
std::string quantity(double value);                  ///< 0.0531, 5.22, 52.2, 1,234; - where it does not exist
std::string interval_note(double low, double high);  ///< " (90%: 1.3 to 1.5)"; empty where low is 0
std::string gibibytes(double size_bytes);            ///< 79.6
std::string gibibytes_used(double peak_bytes, double available_bytes);  ///< 92.1 of 80.0 GiB

/// The number that the text with so many significant digits means; as it is where it is not finite.
double with_digits(double value, int digits);

/// Micro-batches of a rank in an iteration; "-" where iterations differ.
std::string micro_batches_text(std::optional<int> micro_batches_per_rank);

}  // namespace packsim::formats_detail
