#include "packing/refusals/offenders.hpp"

#include <stdexcept>

namespace packsim {
namespace {

constexpr std::int64_t kMostShown = 3;

}  // namespace

void Offenders::add(std::uint64_t sample, std::int32_t length_tokens) {
  if (++count_ > kMostShown) return;
  places_ += (places_.empty() ? "" : ", ") + std::string("sample ") + std::to_string(sample) + " has " +
             std::to_string(length_tokens);
}

void Offenders::refuse_if_any(const std::string& expected, const std::string& what) const {
  if (count_ == 0) return;
  throw std::invalid_argument(what + ": expected " + expected + ", got " + std::to_string(count_) +
                              " that are not: " + places_ + (count_ > kMostShown ? ", ..." : ""));
}

}  // namespace packsim
