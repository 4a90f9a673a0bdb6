#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// One form that a read lets a value have.
struct ValueForm {
  enum class Kind {
    boolean,
    integer,
    number,
    string,
    words,
    file_name,
    object,
    objects,
    integers,
    array_of_words
  };

  Kind kind = Kind::string;
  double low = 0;  ///< of numbers and integers
  double high = 0;
  bool is_above_low = false;            ///< the value is more than `low`
  std::vector<std::string> words = {};  ///< of words and arrays of them
  std::optional<NamedFiles> files = {};
};

/// A key as reads have asked for it.
struct KeyRecord {
  std::string key;
  std::vector<ValueForm> forms;  ///< one of each kind; ranges and words are those of all reads together
  bool is_known = false;         ///< an object may have it
  bool was_missed = false;       ///< some object lacked the key, which was a mistake
  bool was_left_out = false;     ///< some object lacked it, which was none
};

/// One of several kinds of objects that may be in the same place and have other keys. What tells it from the
/// others is the word that a key has or, without a word, whether the key is there.
struct ObjectKind {
  std::string text = {};  ///< for messages: "strategy ffd". Empty where all objects of a place are alike
  std::string key = {};
  std::string word = {};
  bool has_key = true;
};

/// What a reader has asked of the keys of one object.
struct ObjectRecord {
  std::string place;  ///< a JSON pointer without numbers: "/strategies/[]"
  ObjectKind kind;    ///< JsonReader::describe_as()
  std::vector<KeyRecord> keys;
};

void add_form(KeyRecord& record, const ValueForm& form);

/// Everything that readers have asked of files of one kind, in any number of them.
class KeyRecords {
 public:
  void add(const ObjectRecord& object);
  const std::vector<ObjectRecord>& objects() const { return objects_; }
  /// kind: its text.
  const ObjectRecord* find(std::string_view place, std::string_view kind) const;

 private:
  std::vector<ObjectRecord> objects_;  // each place and kind once
};

/// "/strategies/[]/groups" of "/strategies/0/groups".
std::string place_without_numbers(std::string_view place);

}  // namespace packsim
