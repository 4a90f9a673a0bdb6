#pragma once

#include <nlohmann/json_fwd.hpp>

namespace packsim::testing {

/// Compares with the published result of a case or, where we differ on purpose, with ours, which must then
/// really differ.
void check_published(const nlohmann::json& published_case, const nlohmann::json& ours,
                     const nlohmann::json& published);

// Cases of strategies that form whole iterations.
void check_cp_schedule(const nlohmann::json& published_case);
void check_cp_size(const nlohmann::json& published_case);
void check_dp_schedule(const nlohmann::json& published_case);
void check_partition(const nlohmann::json& published_case);
void check_partition_sq(const nlohmann::json& published_case);
void check_token_limit(const nlohmann::json& published_case);
void check_stream_batch(const nlohmann::json& published_case);

}  // namespace packsim::testing
