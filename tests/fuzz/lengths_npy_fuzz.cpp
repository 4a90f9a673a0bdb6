// Any bytes as a NumPy file of lengths: an accepted file has the header that numpy writes, as many elements
// as that says, and their values.

#include <cstring>
#include <regex>
#include <vector>

#include "scenarios/loader/lengths/read_lengths.hpp"
#include "tests/fuzz/expect.hpp"

namespace {

using packsim::testing::expect;

struct NaiveHeader {
  std::string dtype;
  std::uint64_t n_elements = 0;
};

// Three members in any order. Blanks are taken out first.
NaiveHeader naive_header(std::string dict) {
  static const std::regex kMembers("\\{(.*'.*':.*),(.*'.*':.*),(.*'.*':\\(?.*)\\}\n?");
  static const std::regex kDescr("'descr':'([<|>a-z0-9]*)'");
  static const std::regex kShape("'shape':\\(([0-9]+),\\)");
  std::erase(dict, ' ');
  std::smatch descr;
  std::smatch shape;
  expect(dict.size() < 200 && std::regex_match(dict, kMembers), "the header is a dict");
  expect(std::regex_search(dict, descr, kDescr) && std::regex_search(dict, shape, kShape),
         "the header has a type and a shape");
  NaiveHeader header{.dtype = descr[1], .n_elements = std::stoull(shape[1])};
  for (const std::string& text : {descr.str(), shape.str(), std::string("'fortran_order':False")}) {
    const std::size_t at = dict.find(text);
    expect(at != std::string::npos, "a member of the header");
    dict.erase(at, text.size());
  }
  if (dict.ends_with('\n')) dict.pop_back();
  expect(dict == "{,,}" || dict == "{,,,}", "the header has no other members");
  return header;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value += static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), n_bytes);
  packsim::Problems problems;
  const std::vector<std::int32_t> lengths = packsim::parse_lengths("input.npy", bytes, problems);
  if (problems.size() > 0) return 0;
  expect(bytes.substr(0, 6) == "\x93NUMPY", "a NumPy file");
  const std::size_t dict_at = bytes[6] == 1 ? 10 : 12;
  const std::uint64_t dict_size = little_endian(bytes.substr(8, dict_at - 8));
  const NaiveHeader header = naive_header(std::string(bytes.substr(dict_at, dict_size)));
  expect(header.n_elements == lengths.size(), "as many elements as the header says");
  const std::size_t element_size = header.dtype == "<u2" ? 2 : header.dtype.back() == '4' ? 4 : 8;
  const std::string_view elements = bytes.substr(dict_at + dict_size);
  expect(elements.size() == element_size * lengths.size(), "nothing behind the elements");
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::uint64_t value = little_endian(elements.substr(i * element_size, element_size));
    expect(value <= 16'777'216 && value == static_cast<std::uint64_t>(lengths[i]), "an element's value");
  }
  return 0;
}
