// Packs 100 M lengths with one strategy and prints the time and the peak memory: getrusage knows only the
// peak of a whole process, so each strategy gets a process of its own. Usage: packsim_packing_memory STRATEGY
// [N_MILLION]

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "packing/pack.hpp"
#include "packing/algorithms/shuffle.hpp"
#include "scenarios/loader/lengths/read_lengths.hpp"
#include "tests/paths.hpp"

int main(int argc, char** argv) {
  const std::string strategy = argc > 1 ? argv[1] : "hbp";
  const std::size_t n = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100) * 1'000'000;
  const std::vector<std::int32_t> sample =
      packsim::read_lengths(packsim_test::source_dir() + "/scenarios/lengths/tulu3_like_939344.npy");
  if (sample.empty()) return EXIT_FAILURE;
  std::vector<std::int32_t> lengths(n);
  packsim::Generator generator(1024);
  for (std::int32_t& length : lengths) {
    length = sample[packsim::uniform_up_to(generator, static_cast<std::uint32_t>(sample.size() - 1))];
  }
  packsim::PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {131072}};
  if (strategy == "hbp") request.capacities_tokens = {16384, 131072};

  const auto start = std::chrono::steady_clock::now();
  const packsim::Packing packing = packsim::pack(strategy, request);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%-6s %zu samples -> %zu packs in %.2f s, peak memory %.2f GB (lengths included)\n",
              strategy.c_str(), n, packing.n_packs(), seconds,
              static_cast<double>(usage.ru_maxrss) * 1024 / 1e9);
  return EXIT_SUCCESS;
}
