#include "experiment/for_each_index.hpp"

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace packsim {

void for_each_index(std::size_t n, int n_threads, const std::function<void(std::size_t)>& work) {
  std::vector<std::exception_ptr> failures(n);
  std::atomic<std::size_t> next{0};
  const auto worker = [&] {
    for (std::size_t i = next++; i < n; i = next++) {
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int t = 1; t < n_threads; ++t) threads.emplace_back(worker);
  worker();
  threads.clear();  // joins
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace packsim
