#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/lengths/length_formats.hpp"
#include "scenarios/loader/lengths/length_text.hpp"

namespace packsim::length_formats {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they lie in the file");

// What the head of a NumPy file says about the array behind it.
struct NpyHeader {
  std::string dtype;           // as in '<i4'
  std::size_t n_elements = 0;  // of an array with one dimension
  std::size_t data_offset = 0;
};

constexpr std::string_view kMagic = "\x93NUMPY";

// The value of a key in the header, which is a Python dict such as
// {'descr': '<i4', 'fortran_order': False, 'shape': (1000,), }: everything up to `end`.
std::optional<std::string_view> value_of(std::string_view dict, std::string_view key, std::string_view end) {
  const std::size_t at = dict.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view value = dict.substr(at + key.size() + 3);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  const std::size_t stop = value.find(end);
  if (stop == std::string_view::npos) return std::nullopt;
  return value.substr(0, stop + end.size() - 1);
}

// Whether the header is a dict of these three members and nothing else: a second 'shape' would be the one
// that numpy takes.
bool has_only(std::string_view dict, std::string_view descr, std::string_view fortran_order,
              std::string_view shape) {
  std::string rest;
  std::ranges::copy_if(dict, std::back_inserter(rest), [](char c) { return c != ' '; });
  for (std::string member :
       {fmt::format("'descr':{}", descr), fmt::format("'fortran_order':{}", fortran_order),
        fmt::format("'shape':{})", shape)}) {
    std::erase(member, ' ');
    const std::size_t at = rest.find(member);
    if (at == std::string::npos) return false;
    rest.erase(at, member.size());
  }
  if (rest.ends_with('\n')) rest.pop_back();
  return rest == "{,,}" || rest == "{,,,}";
}

// "(1000,": the only dimension of an array. "()" has none, "(10, 100" two.
std::optional<std::size_t> only_dimension(std::string_view shape) {
  std::size_t n = 0;
  const auto [end, error] = std::from_chars(shape.data() + 1, shape.data() + shape.size(), n);
  const bool closed =
      std::string_view(end, static_cast<std::size_t>(shape.data() + shape.size() - end)) == ",";
  return error == std::errc() && closed ? std::optional(n) : std::nullopt;
}

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::optional<NpyHeader> parse_dict(std::string_view dict, BadRows& bad_rows) {
  const auto descr = value_of(dict, "descr", ",");
  const auto fortran_order = value_of(dict, "fortran_order", ",");
  const auto shape = value_of(dict, "shape", ")");
  if (!descr || !fortran_order || !shape || !shape->starts_with('(') ||
      !has_only(dict, *descr, *fortran_order, *shape)) {
    bad_rows.add("header", "a dict of descr, fortran_order and shape", quote(dict));
    return std::nullopt;
  }
  const std::optional<std::size_t> n_elements = only_dimension(*shape);
  if (!n_elements) bad_rows.add("header", "a shape of one dimension", quote(std::string(*shape) + ")"));
  if (*fortran_order != "False") bad_rows.add("header", "fortran_order False", quote(*fortran_order));
  if (!n_elements || *fortran_order != "False") return std::nullopt;
  std::string dtype(*descr);
  if (dtype.size() >= 2 && dtype.starts_with('\'') && dtype.ends_with('\''))
    dtype = dtype.substr(1, dtype.size() - 2);
  return NpyHeader{.dtype = dtype, .n_elements = *n_elements, .data_offset = 0};
}

// Reads the head of an .npy file, version 1 to 3 (numpy.lib.format). Nothing, and a bad row, where it is
// damaged or the array is not a one-dimensional one in C order.
std::optional<NpyHeader> read_npy_header(std::string_view bytes, BadRows& bad_rows) {
  constexpr std::size_t kVersionEnd = 8;  // the magic text, then the major and the minor version
  if (!bytes.starts_with(kMagic) || bytes.size() < kVersionEnd) {
    bad_rows.add("header", "a NumPy file",
                 bytes.empty() ? "an empty file" : quote(bytes.substr(0, kVersionEnd)));
    return std::nullopt;
  }
  const int version = static_cast<unsigned char>(bytes[kMagic.size()]);
  if (version < 1 || version > 3) {
    bad_rows.add("header", "version 1, 2 or 3", fmt::format("{}", version));
    return std::nullopt;
  }
  const std::size_t length_size = version == 1 ? 2 : 4;
  const std::size_t dict_offset = kVersionEnd + length_size;
  const std::size_t n_bytes =
      bytes.size() < dict_offset ? 0 : little_endian(bytes.substr(kVersionEnd, length_size));
  if (n_bytes == 0 || n_bytes > bytes.size() - dict_offset) {
    bad_rows.add("header", fmt::format("{} bytes", std::max<std::size_t>(n_bytes, 1)),
                 fmt::format("{}", bytes.size() < dict_offset ? 0 : bytes.size() - dict_offset));
    return std::nullopt;
  }
  std::optional<NpyHeader> header = parse_dict(bytes.substr(dict_offset, n_bytes), bad_rows);
  if (header) header->data_offset = dict_offset + n_bytes;
  return header;
}

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
