#include "plan_files/plan_facts.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "plan_files/hex.hpp"
#include "plan_files/plan_limits.hpp"

namespace packsim {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Whether facts are read into the object, and not written from it.
template <typename Facts>
constexpr bool kReads = !std::is_const_v<Facts>;

// Calls visit(key, value) for every fact, in the order of the file. Facts is PlanFacts, const or not.
template <typename Facts, typename Visit>
void for_each_fact(Facts& facts, const Visit& visit) {
  visit("version", facts.version);
  visit("name", facts.name);
  visit("strategy", facts.strategy);
  visit("scenario", facts.scenario);
  visit("normaliser", facts.normaliser);
  visit("lengths_hash", facts.lengths_hash);
  visit("seed", facts.seed);
  visit("shuffle", facts.shuffle);
  visit("n_gpus", facts.n_gpus);
  visit("tp_degree", facts.tp_degree);
  visit("pp_degree", facts.pp_degree);
  visit("ep_degree", facts.ep_degree);
  visit("zero_stage", facts.zero_stage);
  if (facts.virtual_stages > 0 || kReads<Facts>) visit("virtual_stages", facts.virtual_stages);
  if (!facts.checkpointing.empty() || kReads<Facts>) visit("checkpointing", facts.checkpointing);
  if (!facts.offload.empty() || kReads<Facts>) visit("offload", facts.offload);
  if (!facts.precision.empty() || kReads<Facts>) visit("precision", facts.precision);
  if (!facts.cp_exchange.empty() || kReads<Facts>) visit("cp_exchange", facts.cp_exchange);
  if (facts.shard_degree >= 0 || kReads<Facts>) visit("shard_degree", facts.shard_degree);
  if (facts.mlp_tiles > 0 || kReads<Facts>) visit("mlp_tiles", facts.mlp_tiles);
  if (facts.loss_tiles > 0 || kReads<Facts>) visit("loss_tiles", facts.loss_tiles);
  visit("epochs", facts.epochs);
  visit("tokens_per_iteration", facts.tokens_per_iteration);
  visit("over_long", facts.over_long);
  visit("empty", facts.empty);
  visit("padding", facts.padding);
  visit("pad_multiple_tokens", facts.pad_multiple_tokens);
  visit("order", facts.order);
  visit("last_iteration", facts.last_iteration);
  visit("n_samples", facts.counts.n_samples);
  visit("n_tokens", facts.counts.n_tokens);
  visit("dropped_samples", facts.counts.dropped_samples);
  visit("dropped_tokens", facts.counts.dropped_tokens);
  visit("empty_samples", facts.counts.empty_samples);
  visit("truncated_samples", facts.counts.truncated_samples);
  visit("truncated_tokens", facts.counts.truncated_tokens);
  visit("split_samples", facts.counts.split_samples);
  visit("own_pack_samples", facts.counts.own_pack_samples);
  visit("dropped_packs", facts.dropped_packs);
  visit("dropped_pack_tokens", facts.dropped_pack_tokens);
  visit("repeated_packs", facts.repeated_packs);
  visit("repeated_tokens", facts.repeated_tokens);
  visit("curriculum_iterations", facts.curriculum_iterations);
}

constexpr const auto& names_of(OverLong) {
  return kOverLongNames;
}
constexpr const auto& names_of(Empty) {
  return kEmptyNames;
}
constexpr const auto& names_of(Padding) {
  return kPaddingNames;
}
constexpr const auto& names_of(PackOrder) {
  return kPackOrderNames;
}
constexpr const auto& names_of(LastIteration) {
  return kLastIterationNames;
}

// A value for an error. Arrays and objects can be as deep as the text is long, which dump() would follow.
std::string described(const json& value) {
  constexpr std::size_t kMostShown = 60;
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  if (value.is_string() && value.get_ref<const std::string&>().size() > kMostShown) return "a long text";
  return value.dump();
}

// The keys of an object that come twice. JSON readers keep the last of them, or the first.
class KeysOfFacts {
 public:
  bool operator()(int depth, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::key && depth == 1) keys_.push_back(value.get<std::string>());
    return true;
  }
  void expect_each_once() {
    std::ranges::sort(keys_);
    const auto twice = std::ranges::adjacent_find(keys_);
    if (twice != keys_.end()) {
      throw std::invalid_argument("facts: expected each key once, got " + described(json(*twice)) + " twice");
    }
  }

 private:
  std::vector<std::string> keys_;
};

// What the first files do not say.
constexpr std::array<std::string_view, 9> kLaterFacts = {"ep_degree",    "virtual_stages", "checkpointing",
                                                         "offload",      "precision",      "cp_exchange",
                                                         "shard_degree", "mlp_tiles",      "loss_tiles"};

class FactReader {
 public:
  explicit FactReader(const json& facts) : facts_(facts) {}

  template <typename Value>
  void operator()(const char* key, Value& value) {
    const auto found = facts_.find(key);
    if (found == facts_.end()) {
      if (std::ranges::find(kLaterFacts, key) == kLaterFacts.end()) add(key, "a value", "none");
    } else if constexpr (std::is_same_v<Value, bool>) {
      if (!found->is_boolean()) return add(key, "true or false", described(*found));
      value = found->get<bool>();
    } else if constexpr (std::is_integral_v<Value>) {
      constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Value>::max());
      if (!found->is_number_unsigned() || found->get<std::uint64_t>() > kMost)
        return add(key, "integer in 0.." + std::to_string(kMost), described(*found));
      value = found->get<Value>();
    } else if (!found->is_string()) {
      add(key, "text", described(*found));
    } else if constexpr (std::is_same_v<Value, std::string>) {
      value = found->get<std::string>();
    } else {
      read_policy(key, found->get<std::string>(), value);
    }
  }

  void throw_if_any() const {
    if (!mistakes_.empty()) throw std::invalid_argument(mistakes_);
  }

 private:
  template <typename Policy>
  void read_policy(const char* key, const std::string& name, Policy& value) {
    std::string known;
    for (const auto& row : names_of(value)) {
      if (row.name == name) {
        value = row.value;
        return;
      }
      known += (known.empty() ? "" : ", ") + std::string(row.name);
    }
    add(key, "one of " + known, described(json(name)));
  }

  void add(const char* key, const std::string& expected, const std::string& got) {
    mistakes_ += (mistakes_.empty() ? "" : "\n") + std::string("facts: /") + key + ": expected " + expected +
                 ", got " + got;
  }

  const json& facts_;
  std::string mistakes_;
};

}  // namespace

std::string facts_to_json(const PlanFacts& facts) {
  ordered_json text;
  for_each_fact(facts, [&](const char* key, const auto& value) {
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
      text[key] = policy_name(names_of(value), value);
    } else {
      text[key] = value;
    }
  });
  // Names may hold bytes that are not UTF-8; JSON may not.
  return text.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

PlanFacts facts_from_json(std::string_view text) {
  if (text.size() > kMostFacts_bytes) {
    throw std::invalid_argument("facts: expected at most " + std::to_string(kMostFacts_bytes) +
                                " bytes, got " + std::to_string(text.size()));
  }
  KeysOfFacts keys;
  const json facts = json::parse(text, std::ref(keys), false);
  if (!facts.is_object()) throw std::invalid_argument("facts: expected a JSON object, got something else");
  keys.expect_each_once();
  PlanFacts result;
  FactReader reader(facts);
  for_each_fact(result, [&](const char* key, auto& value) { reader(key, value); });
  reader.throw_if_any();
  return result;
}

std::string hash_of_lengths(std::span<const std::int32_t> lengths_tokens) {
  HashOfLengths hash;
  hash.add(lengths_tokens);
  return hash.text();
}

struct HashOfLengths::State {
  XXH3_state_t of_bytes;
};

HashOfLengths::HashOfLengths() : state_(std::make_shared<State>()) {
  XXH3_128bits_reset(&state_->of_bytes);
}

void HashOfLengths::add(std::span<const std::int32_t> lengths_tokens) {
  XXH3_128bits_update(&state_->of_bytes, lengths_tokens.data(), lengths_tokens.size_bytes());
}

std::string HashOfLengths::text() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->of_bytes);
  return hex(hash.high64) + hex(hash.low64);
}

}  // namespace packsim
