#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace packsim {

/// A part of a layer that can be recomputed by itself.
enum class LayerModule : std::uint8_t { core_attn, layernorm, mla_up_proj, mlp, moe, moe_act };

struct LayerModuleKind {
  LayerModule module;
  std::string_view name;  ///< Megatron's, as in its option --recompute-modules
  std::string_view text;
};

inline constexpr std::array<LayerModuleKind, 6> kLayerModules = {{
    {LayerModule::core_attn, "core_attn", "the inside of attention"},
    {LayerModule::layernorm, "layernorm", "the norms in front of attention and of the MLP or experts"},
    {LayerModule::mla_up_proj, "mla_up_proj", "heads made from latents, and their rotation"},
    {LayerModule::mlp, "mlp", "the MLP of a layer without experts"},
    {LayerModule::moe, "moe", "the experts, from the router on"},
    {LayerModule::moe_act, "moe_act", "the activation of the routed experts"},
}};

/// Some of these modules.
class LayerModules {
 public:
  constexpr LayerModules() = default;
  template <typename... Modules>
  constexpr explicit LayerModules(Modules... modules) {
    (add(modules), ...);
  }
  constexpr void add(LayerModule module) { bits_ |= bit(module); }
  constexpr bool has(LayerModule module) const { return (bits_ & bit(module)) != 0; }
  constexpr bool has_any_of(LayerModules others) const { return (bits_ & others.bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const LayerModules&) const = default;

 private:
  static constexpr unsigned bit(LayerModule module) { return 1U << static_cast<unsigned>(module); }
  unsigned bits_ = 0;
};

}  // namespace packsim
