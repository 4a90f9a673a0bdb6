#pragma once

namespace packsim_test {

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

}  // namespace packsim_test
