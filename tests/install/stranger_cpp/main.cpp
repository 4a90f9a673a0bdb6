#include <iostream>

#include "packing/pack.hpp"

int main() {
  const std::vector<std::int32_t> lengths_tokens = {5, 9, 4, 1, 3};
  const packsim::Packing packing =
      packsim::pack("ffd", {.lengths_tokens = lengths_tokens, .capacities_tokens = {10}});
  const packsim::PackSet& packs = packing.groups[0];
  for (std::size_t p = 0; p < packs.n_packs(); ++p) {
    for (const packsim::ItemIndex i : packs[p])
      std::cout << "sample " << i << ": " << lengths_tokens[i] << "  ";
    std::cout << "\n";
  }
}
