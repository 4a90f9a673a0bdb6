#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/json/problems.hpp"

namespace packsim {

class KeyRecords;

/// A JSON file as it was read.
struct JsonDocument {
  std::string file;                  ///< as the user spelled it
  std::string hash;                  ///< of the bytes
  std::shared_ptr<const Json> root;  ///< null where the text is not JSON
  KeyRecords* records = nullptr;     ///< where readers note what they ask; null: nowhere
  /// What to say of a key that an object does not have; none: suggest(). place: the object's JSON pointer,
  /// known: its keys.
  std::function<std::string(const std::string& place, const std::string& key,
                            std::span<const std::string> known)>
      suggest_key = {};
};

enum class Comments { refused, allowed };

/// Strict JSON (RFC 8259) with at most 64 levels: nothing behind the value, no key twice in an object, and
/// comments (`// ...`, `/* ... */`) only where they are allowed; a byte order mark is skipped. Returns
/// nothing where the text is not JSON. Of two equal keys the first one counts, and the second one is a
/// problem.
///
/// line: where the text is one line of a file, which one; places then start with it.
std::optional<Json> parse_json(const std::string& file, std::string_view text, Problems& problems,
                               std::optional<std::int64_t> line = std::nullopt,
                               Comments comments = Comments::refused);

/// Reads and parses a file, or standard input, which is "-". Throws FileError where it cannot be read.
JsonDocument read_json(const std::string& path, Problems& problems, Comments comments = Comments::refused);

}  // namespace packsim
