#pragma once

#include <cstdint>
#include <string>

namespace packsim {

/// Samples whose lengths are not allowed: the first few of them, and their number.
class Offenders {
 public:
  void add(std::uint64_t sample, std::int32_t length_tokens);

  /// Throws std::invalid_argument if there are any. expected: for the message, such as "lengths of at least
  /// 0".
  /// what: the argument that is wrong.
  void refuse_if_any(const std::string& expected, const std::string& what = "lengths_tokens") const;

 private:
  std::int64_t count_ = 0;
  std::string places_;
};

}  // namespace packsim
