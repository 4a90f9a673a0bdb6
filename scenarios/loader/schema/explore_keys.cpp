#include "scenarios/loader/schema/explore_keys.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

namespace packsim {
namespace {

using Kind = ValueForm::Kind;

// Values that make a reader go on: into an object, or where each word leads.
std::vector<Json> samples_of(const ValueForm& form) {
  std::vector<Json> samples;
  switch (form.kind) {
    case Kind::boolean:
      return {true, false};
    case Kind::integer:
      return {static_cast<std::int64_t>(form.low)};
    case Kind::number:
      return {form.is_above_low ? form.low + 1 : form.low};
    case Kind::string:
      return {"x"};
    case Kind::file_name:
      return {"no/such/file.json"};
    case Kind::object:
      return {Json::object()};
    case Kind::objects:
      return {Json::array({Json::object()})};
    case Kind::integers:
    case Kind::array_of_words:
      return {Json::array()};
    case Kind::words:
      return {form.words.begin(), form.words.end()};
  }
  return samples;
}

std::vector<Json> samples_of(const KeyRecord& record) {
  std::vector<Json> samples;
  for (const ValueForm& form : record.forms) {
    for (Json& sample : samples_of(form)) samples.push_back(std::move(sample));
  }
  return samples;
}

// Probes have one element in each array.
Json::json_pointer pointer_to(const std::string& place, const std::string& key) {
  std::string pointer = place;
  for (std::size_t at; (at = pointer.find("[]")) != std::string::npos;) pointer.replace(at, 2, "0");
  return Json::json_pointer(pointer) / key;
}

class Explorer {
 public:
  explicit Explorer(const FileKind& kind) : kind_(kind) {}

  KeyRecords explore() {
    probes_.push_back(Json::object());
    for (; !probes_.empty(); probes_.pop_front()) read_with_required_keys(probes_.front());
    return std::move(all_);
  }

 private:
  KeyRecords read(const Json& probe) {
    KeyRecords records;
    Problems problems;
    const JsonDocument document{
        .file = "probe", .hash = "", .root = std::make_shared<const Json>(probe), .records = &records};
    kind_.read(JsonReader(document, problems), DataPaths{.root = "/no/such/folder"}, problems);
    for (const ObjectRecord& object : records.objects()) all_.add(object);
    return records;
  }

  // A reader may ask for more once an object that it needs is there. What it needs follows from the keys of
  // the probe, so each probe gets it anew.
  void read_with_required_keys(const Json& probe) {
    Json whole = probe;
    KeyRecords records = read(whole);
    while (add_required_keys(records, whole)) records = read(whole);
    for (const ObjectRecord& object : records.objects()) {
      for (const KeyRecord& record : object.keys) add_probes(object, *find(all_, object, record.key), probe);
    }
  }

  static bool add_required_keys(const KeyRecords& records, Json& probe) {
    bool adds = false;
    for (const ObjectRecord& object : records.objects()) {
      for (const KeyRecord& record : object.keys) {
        if (!record.was_missed) continue;
        probe[pointer_to(object.place, record.key)] = samples_of(record).front();
        adds = true;
      }
    }
    return adds;
  }

  static const KeyRecord* find(const KeyRecords& records, const ObjectRecord& object,
                               const std::string& key) {
    const ObjectRecord* found = records.find(object.place, object.kind.text);
    return &*std::ranges::find(found->keys, key, &KeyRecord::key);
  }

  // One for each value of the key that was not yet tried in such an object.
  void add_probes(const ObjectRecord& object, const KeyRecord& record, const Json& probe) {
    const std::string what = object.place + '\n' + object.kind.text + '\n' + record.key + '\n';
    const Json::json_pointer at = pointer_to(object.place, record.key);
    if (record.forms.empty())  // it may be read where another key is missing, or is there
      return add_probe(probe, at, nullptr, what + keys_of(probe.value(at.parent_pointer(), Json())));
    for (const Json& sample : samples_of(record)) add_probe(probe, at, sample, what + sample.dump());
  }

  void add_probe(const Json& probe, const Json::json_pointer& at, const Json& sample,
                 const std::string& what) {
    if (!tried_.insert(what).second) return;
    probes_.push_back(probe);
    probes_.back()[at] = sample;
  }

  static std::string keys_of(const Json& object) {
    std::string keys;
    for (const auto& [key, value] : object.items()) keys += key + ' ';
    return keys;
  }

  const FileKind& kind_;
  KeyRecords all_;
  std::deque<Json> probes_;
  std::set<std::string> tried_;
};

}  // namespace

KeyRecords explore_keys(const FileKind& kind) {
  return Explorer(kind).explore();
}

}  // namespace packsim
