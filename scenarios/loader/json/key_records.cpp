#include "scenarios/loader/json/key_records.hpp"

#include <algorithm>

namespace packsim {
namespace {

// The key of an object in which it may already be.
KeyRecord& key_of(ObjectRecord& object, const std::string& key) {
  const auto at = std::ranges::find(object.keys, key, &KeyRecord::key);
  if (at != object.keys.end()) return *at;
  return object.keys.emplace_back(KeyRecord{.key = key, .forms = {}});
}

}  // namespace

void add_form(KeyRecord& record, const ValueForm& form) {
  const auto same = std::ranges::find(record.forms, form.kind, &ValueForm::kind);
  if (same == record.forms.end()) {
    record.forms.push_back(form);
    return;
  }
  same->is_above_low = form.low == same->low ? same->is_above_low && form.is_above_low
                                             : (form.low < same->low ? form : *same).is_above_low;
  same->low = std::min(same->low, form.low);
  same->high = std::max(same->high, form.high);
  for (const std::string& word : form.words) {
    if (std::ranges::find(same->words, word) == same->words.end()) same->words.push_back(word);
  }
}

void KeyRecords::add(const ObjectRecord& object) {
  auto at = std::ranges::find_if(objects_, [&](const ObjectRecord& other) {
    return other.place == object.place && other.kind.text == object.kind.text;
  });
  if (at == objects_.end())
    at = objects_.insert(at, {.place = object.place, .kind = object.kind, .keys = {}});
  for (const KeyRecord& asked : object.keys) {
    KeyRecord& record = key_of(*at, asked.key);
    for (const ValueForm& form : asked.forms) add_form(record, form);
    record.is_known |= asked.is_known;
    record.was_missed |= asked.was_missed;
    record.was_left_out |= asked.was_left_out;
  }
}

const ObjectRecord* KeyRecords::find(std::string_view place, std::string_view kind) const {
  const auto at = std::ranges::find_if(objects_, [&](const ObjectRecord& object) {
    return object.place == place && object.kind.text == kind;
  });
  return at == objects_.end() ? nullptr : &*at;
}

std::string place_without_numbers(std::string_view place) {
  std::string without;
  for (std::size_t at = 0; at < place.size();) {
    const std::size_t end = std::min(place.find('/', at + 1), place.size());
    const std::string_view step = place.substr(at + 1, end - at - 1);
    const bool is_number =
        !step.empty() && std::ranges::all_of(step, [](char c) { return c >= '0' && c <= '9'; });
    without += is_number ? "/[]" : "/" + std::string(step);
    at = end;
  }
  return without;
}

}  // namespace packsim
