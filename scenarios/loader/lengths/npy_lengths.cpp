#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/lengths/length_formats.hpp"
#include "scenarios/loader/lengths/length_text.hpp"
#include "scenarios/loader/lengths/npy_header.hpp"

namespace packsim::length_formats {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they lie in the file");

template <typename T>
std::vector<std::int32_t> elements(std::string_view data, BadRows& bad_rows) {
  std::vector<std::int32_t> lengths_tokens(data.size() / sizeof(T));
  for (std::size_t i = 0; i < lengths_tokens.size(); ++i) {
    T element;
    std::memcpy(&element, data.data() + i * sizeof(T), sizeof(T));
    if (!std::in_range<std::int64_t>(element) || !is_length(static_cast<std::int64_t>(element))) {
      bad_rows.add(fmt::format("element {}", i), length_range(), fmt::format("{}", element));
      continue;
    }
    lengths_tokens[i] = static_cast<std::int32_t>(element);
  }
  return lengths_tokens;
}

struct ElementType {
  std::string_view dtype;
  std::size_t size_bytes;
  std::vector<std::int32_t> (*read)(std::string_view data, BadRows& bad_rows);
};

constexpr std::array<ElementType, 5> kElementTypes = {{
    {"<i4", 4, elements<std::int32_t>},
    {"<i8", 8, elements<std::int64_t>},
    {"<u2", 2, elements<std::uint16_t>},
    {"<u4", 4, elements<std::uint32_t>},
    {"<u8", 8, elements<std::uint64_t>},
}};

}  // namespace

std::vector<std::int32_t> npy(std::string_view bytes, BadRows& bad_rows) {
  const std::optional<NpyHeader> header = read_npy_header(bytes, bad_rows);
  if (!header) return {};
  for (const ElementType& type : kElementTypes) {
    if (type.dtype != header->dtype) continue;
    const std::string_view data = bytes.substr(header->data_offset);
    if (data.size() / type.size_bytes != header->n_elements || data.size() % type.size_bytes != 0) {
      bad_rows.add("data", fmt::format("{} elements of {} bytes", header->n_elements, type.size_bytes),
                   fmt::format("{} bytes", data.size()));
      return {};
    }
    return type.read(data, bad_rows);
  }
  bad_rows.add("header", "elements of type <i4, <i8, <u2, <u4 or <u8", quote(header->dtype));
  return {};
}

}  // namespace packsim::length_formats
