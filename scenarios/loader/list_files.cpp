#include "scenarios/loader/list_files.hpp"

#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {

std::vector<ListedFile> list_files(const NamedFiles& kind, const DataPaths& data) {
  Problems problems;
  std::vector<ListedFile> files;
  for (const std::string& name : names_of(kind, data)) {
    const std::string path = path_of(kind, name, data);
    const JsonDocument document = read_json(path, problems, Comments::allowed);
    JsonReader reader(document, problems);
    reader.allow_any_keys();
    files.push_back({.name = name,
                     .description = reader.string("description", reader.string("source", "")),
                     .path = path});
  }
  problems.throw_if_any();
  return files;
}

}  // namespace packsim
