#include <algorithm>
#include <array>

#include "packing/strategy.hpp"

namespace packsim {

// Each strategy is defined in the file that packs with it.
namespace strategies_detail {
extern const Strategy none, random, sorted, isf, ffd, ffs, bfd, bfs, spfhp, lpfhp, wrapped, hbp, trl_bfd,
    axolotl_multipack, nemo_ffs, longalign, longalign_sorted, wlb, megatron_hybrid_cp, megatron_dynamic_cp,
    megatron_dp_balanced, verl_kk, slime_kk, prime_rl, trl_lpt, planner, flexsp;
}

namespace {

std::vector<const Option*> one_option_of_each_name() {
  std::vector<const Option*> options;
  for (const Strategy& strategy : strategies()) {
    for (const Option* option : strategy.options) {
      const auto same = std::ranges::find(options, option->name, &Option::name);
      if (same == options.end()) {
        options.push_back(option);
      } else if (option->most - option->least > (*same)->most - (*same)->least) {
        *same = option;
      }
    }
  }
  return options;
}

const Option* option_named(std::span<const Option* const> options, std::string_view name) {
  const auto at = std::ranges::find(options, name, &Option::name);
  return at == options.end() ? nullptr : *at;
}

}  // namespace

// Lists show strategies in this order.
std::span<const Strategy> strategies() {
  namespace d = strategies_detail;
  static const std::array all = {d::none,
                                 d::random,
                                 d::sorted,
                                 d::isf,
                                 d::ffd,
                                 d::ffs,
                                 d::bfd,
                                 d::bfs,
                                 d::spfhp,
                                 d::lpfhp,
                                 d::wrapped,
                                 d::hbp,
                                 d::trl_bfd,
                                 d::axolotl_multipack,
                                 d::nemo_ffs,
                                 d::longalign,
                                 d::longalign_sorted,
                                 d::wlb,
                                 d::megatron_hybrid_cp,
                                 d::megatron_dynamic_cp,
                                 d::megatron_dp_balanced,
                                 d::verl_kk,
                                 d::slime_kk,
                                 d::prime_rl,
                                 d::trl_lpt,
                                 d::planner,
                                 d::flexsp};
  return all;
}

const Strategy* find_strategy(std::string_view name) {
  const auto at = std::ranges::find(strategies(), name, &Strategy::name);
  return at == strategies().end() ? nullptr : &*at;
}

const Option* find_option(const Strategy& strategy, std::string_view name) {
  return option_named(strategy.options, name);
}

std::span<const Option* const> all_options() {
  static const std::vector<const Option*> all = one_option_of_each_name();
  return all;
}

const Option* find_option(std::string_view name) {
  return option_named(all_options(), name);
}

}  // namespace packsim
