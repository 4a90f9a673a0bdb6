#pragma once

#include <cstddef>
#include <functional>

namespace packsim {

/// Runs work(0), ..., work(n - 1) on n_threads threads. If several throw, the exception of the lowest index
/// is rethrown.
void for_each_index(std::size_t n, int n_threads, const std::function<void(std::size_t)>& work);

}  // namespace packsim
