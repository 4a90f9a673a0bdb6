#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/coverage/kernel_uses.hpp"

namespace packsim_test {

/// Sum over the uses of one kind of kernel in one part; every part where it is empty.
inline double sum(const std::vector<packsim::KernelUse>& uses, std::string_view kernel, std::string_view part,
                  double (*value)(const packsim::KernelCase&)) {
  double total = 0;
  for (const packsim::KernelUse& use : uses) {
    if (use.kernel.kernel() == kernel && (part.empty() || use.part == part))
      total += use.count * value(use.kernel);
  }
  return total;
}

inline double count_of(const std::vector<packsim::KernelUse>& uses, const std::string& text,
                       std::string_view part) {
  for (const packsim::KernelUse& use : uses) {
    if (use.kernel.text() == text && use.part == part) return use.count;
  }
  return 0;
}

/// Payload of the collectives of one operation.
inline double payload(const std::vector<packsim::KernelUse>& uses, std::string_view op,
                      std::string_view part) {
  double total = 0;
  for (const packsim::KernelUse& use : uses) {
    if (use.kernel.kernel() == "collective" && use.kernel.value("op") == op && use.part == part)
      total += use.count * static_cast<double>(use.kernel.integer("bytes"));
  }
  return total;
}

inline double one(const packsim::KernelCase&) {
  return 1;
}

}  // namespace packsim_test
