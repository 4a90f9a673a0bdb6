#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "models/step/step_price.hpp"

namespace packsim {

/// The price of each pack of a group. Packs that are known to cost the same share one.
class PackPrices {
 public:
  PackPrices() = default;
  PackPrices(std::initializer_list<MicroBatchPrice> prices) : PackPrices(prices.begin(), prices.end()) {}
  template <typename Iterator>
  PackPrices(Iterator begin, Iterator end) {
    for (; begin != end; ++begin) push_back(*begin);
  }

  std::size_t size() const { return price_of_.size(); }
  void reserve(std::size_t n_packs) { price_of_.reserve(n_packs); }
  /// Adds the next pack with a price of its own. References to earlier prices become invalid.
  void push_back(const MicroBatchPrice& price) {
    price_of_.push_back(static_cast<std::uint32_t>(prices_.size()));
    prices_.push_back(price);
  }
  /// Adds the next pack with the same price as an earlier one. index: the price_index() of the earlier pack.
  void push_back_same(std::uint32_t index) { price_of_.push_back(index); }

  const MicroBatchPrice& operator[](std::size_t pack) const { return prices_[price_of_[pack]]; }
  MicroBatchPrice& operator[](std::size_t pack) { return prices_[price_of_[pack]]; }

  const std::vector<MicroBatchPrice>& prices() const { return prices_; }  ///< [n_prices]
  std::uint32_t price_index(std::size_t pack) const { return price_of_[pack]; }

 private:
  std::vector<MicroBatchPrice> prices_;
  std::vector<std::uint32_t> price_of_;  // [n_packs]
};

}  // namespace packsim
