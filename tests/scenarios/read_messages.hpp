#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "messages.hpp"
#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {

/// What reading an object of file x.json gives; keys that `read` leaves are reported too.
inline std::vector<std::string> read_messages(const std::string& text,
                                              const std::function<void(JsonReader&)>& read) {
  Problems problems;
  JsonDocument document{.file = "x.json", .hash = "", .root = nullptr};
  if (auto root = parse_json("x.json", text, problems))
    document.root = std::make_shared<const Json>(std::move(*root));
  {
    JsonReader reader(document, problems);
    read(reader);
  }
  return messages_in(problems);
}

}  // namespace packsim
