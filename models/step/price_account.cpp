#include "models/step/price_account.hpp"

namespace packsim {

void PriceAccount::add(const PriceAccount& other, double times) {
  if (times <= 0) return;
  for (std::size_t c = 0; c < by_cause_.size(); ++c) {
    for (const auto& [curve, time] : other.by_cause_[c]) by_cause_[c][curve].add(time, times);
  }
}

AccountedTime PriceAccount::total(Cause cause) const {
  AccountedTime total;
  for (const auto& [curve, time] : of(cause)) total.add(time);
  return total;
}

}  // namespace packsim
