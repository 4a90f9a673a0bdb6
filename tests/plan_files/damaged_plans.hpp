#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "plan_files/plan_layout.hpp"

namespace packsim::testing {

using Bytes = std::vector<std::byte>;

/// Makes the hashes of a file true again, as somebody would who writes plans himself.
inline void rehash(Bytes& file) {
  PlanHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  header.file_bytes = file.size();
  header.content_hash = XXH3_64bits(file.data() + sizeof(header), file.size() - sizeof(header));
  header.header_hash = XXH3_64bits(&header, offsetof(PlanHeader, header_hash));
  std::memcpy(file.data(), &header, sizeof(header));
}

inline PlanSection& section_of(Bytes& file, std::string_view name) {
  auto* const sections = reinterpret_cast<PlanSection*>(file.data() + sizeof(PlanHeader));
  for (std::size_t i = 0; i < 16; ++i) {
    if (name == sections[i].name.data()) return sections[i];
  }
  throw std::invalid_argument("no section " + std::string(name));
}

/// Element `index` of a section.
template <typename Element>
Element& element(Bytes& file, std::string_view name, std::size_t index) {
  return reinterpret_cast<Element*>(file.data() + section_of(file, name).offset_bytes)[index];
}

/// Puts other facts, of at most as many bytes, in the place of a text in the facts.
inline void replace_in_facts(Bytes& file, const std::string& from, std::string to) {
  PlanSection& section = section_of(file, plan_sections::kFacts);
  char* const begin = reinterpret_cast<char*>(file.data() + section.offset_bytes);
  std::string text(begin, section.n_elements);
  const std::size_t at = text.find(from);
  if (at == std::string::npos || to.size() > from.size())
    throw std::invalid_argument("no such fact: " + from);
  to.resize(from.size(), ' ');
  std::memcpy(begin + at, to.data(), to.size());
}

}  // namespace packsim::testing
