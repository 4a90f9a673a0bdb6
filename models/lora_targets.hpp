#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace packsim {

/// Linear layers that adapters may be beside, by the names of PEFT's target_modules, with those of
/// linear_layers() that they stand for.
struct LoraTargetKind {
  std::string_view name;
  std::array<std::string_view, 3> layers;
};

inline constexpr std::array<LoraTargetKind, 13> kLoraTargets = {{
    {"q_proj", {"q"}},
    {"k_proj", {"k"}},
    {"v_proj", {"v"}},
    {"o_proj", {"o"}},
    {"gate_proj", {"gate", "expert_gate", "shared_gate"}},
    {"up_proj", {"up", "expert_up", "shared_up"}},
    {"down_proj", {"down", "expert_down", "shared_down"}},
    {"q_a_proj", {"q_a"}},
    {"q_b_proj", {"q_b"}},
    {"kv_a_proj_with_mqa", {"kv_a"}},
    {"kv_b_proj", {"kv_b"}},
    {"qkv_proj", {"qkv"}},
    {"gate_up_proj", {"gate_up"}},
}};

/// PEFT's word for all of them, the router and the gate of shared experts included.
inline constexpr std::string_view kAllLinear = "all-linear";

/// Some of kLoraTargets, or all linear layers.
class LoraTargets {
 public:
  constexpr bool is_all() const { return bits_ == 0; }
  /// index: in kLoraTargets.
  constexpr void add(std::size_t index) { bits_ |= 1U << index; }
  constexpr bool has(std::size_t index) const { return (bits_ >> index & 1U) != 0; }
  /// Whether an adapter is beside the linear layer of this name.
  constexpr bool adapts(std::string_view layer) const {
    if (is_all()) return true;
    for (std::size_t i = 0; i < kLoraTargets.size(); ++i) {
      const auto& layers = kLoraTargets[i].layers;
      if (has(i) && std::find(layers.begin(), layers.end(), layer) != layers.end()) return true;
    }
    return false;
  }
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < kLoraTargets.size(); ++i)
      if (has(i)) names.push_back(kLoraTargets[i].name);
    return names;
  }
  constexpr bool operator==(const LoraTargets&) const = default;

 private:
  unsigned bits_ = 0;
};

}  // namespace packsim
