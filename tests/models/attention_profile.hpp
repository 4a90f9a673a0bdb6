#pragma once

#include <string>
#include <vector>

#include "models/kernels/hardware_profile.hpp"

namespace packsim_test {

/// Attention of a made-up GPU: a model for head_dim 128, curves for 32 heads of 8 key-value heads and 16
/// of 16.
inline packsim::HardwareProfile attention_profile(const std::vector<std::string>& passes) {
  packsim::HardwareProfile profile;
  for (const std::string& pass : passes) {
    const double times = pass == "bwd" ? 2.7 : 1;
    const std::string start = "attention pass=" + pass;
    profile.models.push_back({.key = start + " head_dim=128",
                              .numbers = {{"launch_s", 9e-6, 0},
                                          {"tail_s_per_token", 1.3e-8, 0},
                                          {"s_per_pair", 4e-13 * times, 0},
                                          {"s_per_token", 2.2e-10 * times, 0},
                                          {"s_per_document", 8e-9 * times, 0},
                                          {"s_per_kv_token", 1e-10, 0},
                                          {"n_neighbours", 2, 0}},
                              .box = {{"length_tokens", 64, 131072}, {"heads", 4, 64}, {"ratio", 1, 8}},
                              .end_error = 0.1,
                              .quality = {.rms = 0.05, .left_out_rms = 0.04}});
    const auto add_curve = [&](const std::string& heads, double s_per_pair) {
      packsim::KernelCurve curve{.key = start + heads + " head_dim=128", .size_name = "length_tokens"};
      for (const double length : {128.0, 1024.0, 8192.0, 65536.0}) {
        curve.points.push_back(
            {length, times * length * (s_per_pair * length + 2e-9), 0.01 + 1e-7 * length, 3});
      }
      curve.quality = {.rms = 0.02, .left_out_rms = 0.01};
      profile.curves.push_back(curve);
    };
    add_curve(" heads=16 kv_heads=16", 7e-12);
    add_curve(" heads=32 kv_heads=8", 13e-12);
  }
  return profile;
}

}  // namespace packsim_test
