#include "models/step/price_account.hpp"

namespace packsim {

void PriceAccount::add(const PriceAccount& other, double times) {
  if (times <= 0) return;
  for (std::size_t c = 0; c < by_cause_.size(); ++c) {
    for (const auto& [curve, time] : other.by_cause_[c]) by_cause_[c][curve].add(time, times);
    for (const auto& [text, runs] : other.kernels_[c])
      count(static_cast<Cause>(c), runs.kernel, times * runs.count);
  }
}

void PriceAccount::count(Cause cause, const KernelCase& kernel, double times) {
  if (times <= 0) return;
  Runs& runs = kernels_[static_cast<std::size_t>(cause)][kernel.text()];
  runs.kernel = kernel;
  runs.count += times;
}

AccountedTime PriceAccount::total(Cause cause) const {
  AccountedTime total;
  for (const auto& [curve, time] : of(cause)) total.add(time);
  return total;
}

}  // namespace packsim
