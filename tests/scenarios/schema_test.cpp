#include "scenarios/loader/schema/schema.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "packing/strategy.hpp"
#include "scenarios/loader/schema/explore_keys.hpp"
#include "scenarios/loader/schema/key_texts.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

using packsim_test::kData;

const FileKind& kind(std::string_view name) {
  return *std::ranges::find(file_kinds(), name, &FileKind::name);
}

// Of each kind once: a scenario's takes a second.
const Json& schema(std::string_view name = "scenario") {
  static std::map<std::string_view, Json> made;
  const auto [at, is_new] = made.try_emplace(kind(name).name);
  if (is_new) at->second = schema_of(kind(name), kData);
  return at->second;
}

// Of a key that may be an object or something else, the schema of the object.
Json object_of(const Json& key) {
  for (const Json& form : key.value("anyOf", Json::array())) {
    if (form.contains("properties")) return form;
  }
  return key;
}

// The schema of the key at a place such as "/strategies/[]/sp_degree"; null if it has none.
Json at(const std::string& place, std::string_view name = "scenario") {
  Json now = schema(name);
  for (std::size_t begin = 1; begin <= place.size();) {
    const std::size_t end = std::min(place.find('/', begin), place.size());
    const std::string step = place.substr(begin, end - begin);
    const char* const member = step == "[]" ? "items" : "properties";
    now = object_of(now);
    if (!now.contains(member)) return nullptr;
    now = Json(now[member]);
    if (step != "[]") now = Json(now.value(step, Json()));
    begin = end + 1;
  }
  return now;
}

bool is_object_or_array_of_them(const Json& schema_of_key) {
  return schema_of_key.contains("properties") ||
         (schema_of_key.contains("items") && schema_of_key["items"].contains("properties"));
}

// Places of all keys that are neither objects nor arrays of them, and lack a description.
void find_undescribed(const Json& object, const std::string& place, std::vector<std::string>& found) {
  for (const auto& [key, of_key] : object["properties"].items()) {
    const Json value = object_of(of_key);
    const std::string here = place + "/" + key;
    if (!is_object_or_array_of_them(value)) {
      if (!value.contains("description")) found.push_back(here);
      continue;
    }
    const bool is_array = value.contains("items");
    find_undescribed(is_array ? value["items"] : value, here + (is_array ? "/[]" : ""), found);
  }
}

}  // namespace

TEST_CASE("The docs and the schema of each kind of file have the same keys", "[plain]") {
  for (const FileKind& of : file_kinds()) {
    CAPTURE(of.name);
    std::vector<std::string> undescribed;
    find_undescribed(schema(of.name), "", undescribed);
    CHECK(undescribed == std::vector<std::string>{});
    const KeyTexts texts(pages_of_keys(kData), of.described_as);
    CHECK(texts.all().size() >= 5);
    for (const auto& [place, text] : texts.all()) {
      CAPTURE(place, text);
      CHECK_FALSE(at(place, of.name).is_null());
    }
  }
}

TEST_CASE("Every key that a reader knows is in the schema, but for those that it only refuses", "[plain]") {
  // Groups are a strategy's own: "packing" may not have them.
  const std::vector<std::string> only_refused = {"/packing/groups"};
  std::vector<std::string> missing;
  int n_keys = 0;
  const KeyRecords records = explore_keys(kind("scenario"));
  for (const ObjectRecord& object : records.objects()) {
    for (const KeyRecord& key : object.keys) {
      const std::string place = object.place + "/" + key.key;
      ++n_keys;
      if (key.is_known && at(place).is_null()) missing.push_back(place);
    }
  }
  CHECK(missing == only_refused);
  CHECK(n_keys > 500);  // 25 strategies of over 20 keys
}

TEST_CASE("The schema has a reader's types, limits, names and required keys", "[plain]") {
  CHECK(at("/training/zero_stage")["minimum"] == 0);
  CHECK(at("/training/zero_stage")["maximum"] == 3);
  CHECK(at("/cluster/gpu_hour_price")["exclusiveMinimum"] == 0);
  CHECK(at("/failures/checkpoint/blocking_fraction")["maximum"] == 1);
  CHECK(at("/packing/over_long")["enum"] == Json({"error", "drop", "truncate", "split", "own_pack"}));
  // A number of tokens or a text with a unit; a number of layers, whatever the model's, or a word.
  CHECK(at("/strategies/[]/capacity_tokens")["anyOf"][1]["pattern"] == "^[0-9]+[KkMm]$");
  CHECK(at("/packing/gc_layers")["anyOf"][0]["maximum"] == 4096);
  CHECK(at("/packing/gc_layers")["anyOf"][1]["enum"] == Json({"auto"}));
  CHECK(at("/model")["anyOf"][0]["enum"] == Json(names_of(kModelFiles, kData)));
  CHECK(schema()["required"] ==
        Json({"format", "name", "model", "cluster", "profile", "training", "lengths", "strategies"}));
  // Needed unless another key stands in its place: mtbf_hours for published, load_s for a bandwidth.
  CHECK(at("/failures")["required"] == Json({"checkpoint", "restart"}));
  CHECK(at("/failures/restart")["required"] == Json({"detection_s", "reschedule_s"}));
  CHECK(at("/lengths/mix/[]")["required"] == Json({"source"}));
}

TEST_CASE("Each kind of file has the types, limits, names and required keys of its reader") {
  CHECK(at("/layers", "model")["maximum"] == 4096);
  CHECK(at("/experts", "model")["required"] == Json({"routed", "per_token", "ffn_size"}));
  CHECK(at("/sliding_window/tokens", "model")["anyOf"][0]["minimum"] == 1);
  CHECK(std::ranges::find(schema("model")["required"], "qk_norm") == schema("model")["required"].end());
  CHECK(at("/gpu", "cluster")["anyOf"][0]["enum"] == Json(names_of(kGpuFiles, kData)));
  CHECK(schema("cluster")["required"] == Json({"format", "name", "source", "gpu", "gpus_per_node"}));
  CHECK(at("/vertices/[]/kind", "network")["enum"] == Json({"gpu", "nvswitch", "pcie", "nic", "switch"}));
  CHECK(at("/links/[]/bytes_per_s", "network")["anyOf"][0]["exclusiveMinimum"] == 0);
  CHECK(at("/links/[]/bytes_per_s", "network")["anyOf"][1]["enum"] == Json({"nvlink", "pcie"}));
  CHECK(at("/peak_flop_per_s", "gpu")["required"] == Json({"bf16"}));
}

TEST_CASE("The network of a cluster type is a name, a graph or numbers, each with its own keys") {
  const Json network = at("/network", "cluster");
  CHECK(network["anyOf"][0]["anyOf"][0]["enum"] == Json(names_of(kNetworkFiles, kData)));
  const Json object = network["anyOf"][1];
  CHECK(object["required"] == Json({"source"}));
  REQUIRE(object["allOf"].size() == 2);
  const Json& of_numbers = object["allOf"][0];
  CHECK(of_numbers["if"] == Json{{"not", {{"required", {"vertices"}}}}});
  CHECK(of_numbers["then"]["required"] == Json({"nics_per_node", "nic_bytes_per_s"}));
  const Json& of_graph = object["allOf"][1];
  CHECK(of_graph["if"] == Json{{"required", {"vertices"}}});
  CHECK(of_graph["then"]["required"] == Json({"format", "name", "links"}));
  CHECK(at("/vertices/[]", "network")["required"] == Json({"name", "kind"}));
  // Blocks of nodes are for switches between them.
  const Json rules = at("/vertices/[]", "network")["allOf"];
  for (const Json& rule : rules) {
    const Json& names = rule["then"]["propertyNames"]["enum"];
    const bool is_switch = rule["if"]["properties"]["kind"]["const"] == "switch";
    CHECK(is_switch == (std::ranges::find(names, "every_nodes") != names.end()));
  }
}

TEST_CASE("A strategy takes its own options and no others", "[plain]") {
  const Json strategy = at("/strategies/[]");
  CHECK(strategy["required"] == Json({"strategy"}));
  CHECK(strategy["allOf"].size() == strategies().size());
  for (const Json& rule : strategy["allOf"]) {
    const Strategy* of = find_strategy(rule["if"]["properties"]["strategy"]["const"].get<std::string>());
    REQUIRE(of != nullptr);
    const Json& names = rule["then"]["propertyNames"]["enum"];
    for (const Option* option : all_options()) {
      CAPTURE(of->name, option->name);
      const bool is_taken = std::ranges::find(names, option->name) != names.end();
      CHECK(is_taken == (find_option(*of, option->name) != nullptr));
    }
  }
}

TEST_CASE("A description is what the page says of the key, without its links") {
  const KeyTexts texts(
      "| key of a scenario | meaning | default |\n|---|---|---|\n"
      "| `a.b`, `.c` | one; [two](x.md#y) of it | required, 3 |\n| `d` | see `e` | |\n\n"
      "| key of `strategies` | meaning | default |\n|---|---|---|\n| `f`, `g` | both. Of them; one | 1 |\n"
      "\n| key of a model | meaning | default |\n|---|---|---|\n| `h` | other | |\n",
      "a scenario");
  CHECK(texts.text_of("/a", "b") == "one");
  CHECK(texts.text_of("/a", "c") == "two of it. Default: 3");
  CHECK(texts.text_of("", "d") == "see `e`");
  CHECK(texts.text_of("/strategies/[]/groups/[]", "g") == "both. Of them; one. Default: 1");
  CHECK(texts.all().size() == 5);
}

}  // namespace packsim
