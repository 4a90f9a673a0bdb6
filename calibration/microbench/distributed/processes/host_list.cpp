#include "calibration/microbench/distributed/processes/host_list.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <stdexcept>

namespace packsim::microbench {
namespace {

constexpr std::size_t kMostHosts = 65536;

[[noreturn]] void fail(std::string_view list, const std::string& expected) {
  throw std::invalid_argument("host list \"" + std::string(list) + "\": " + expected);
}

std::uint64_t number_of(std::string_view list, std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    fail(list, "expected a number in the brackets, got \"" + std::string(text) + "\"");
  return number;
}

// The numbers of "001-003,007" as they are written in host names.
std::vector<std::string> numbers_of(std::string_view list, std::string_view ranges) {
  std::vector<std::string> numbers;
  for (std::size_t start = 0; start <= ranges.size();) {
    const std::size_t end = std::min(ranges.find(',', start), ranges.size());
    const std::string_view range = ranges.substr(start, end - start);
    const std::string_view low_text = range.substr(0, range.find('-'));
    const std::string_view high_text =
        low_text.size() == range.size() ? low_text : range.substr(low_text.size() + 1);
    const std::uint64_t low = number_of(list, low_text);
    const std::uint64_t high = number_of(list, high_text);
    if (high < low || high - low >= kMostHosts)
      fail(list, "expected a range from low to high, got \"" + std::string(range) + "\"");
    for (std::uint64_t number = low; number <= high; ++number) {
      std::string digits = std::to_string(number);
      if (digits.size() < low_text.size()) digits.insert(0, low_text.size() - digits.size(), '0');
      numbers.push_back(std::move(digits));
    }
    if (numbers.size() > kMostHosts) fail(list, "expected at most 65536 hosts");
    start = end + 1;
  }
  return numbers;
}

// The hosts of one name with any number of brackets.
std::vector<std::string> expand_name(std::string_view list, std::string_view name) {
  std::vector<std::string> hosts = {""};
  while (!name.empty()) {
    const std::size_t open = name.find('[');
    for (std::string& host : hosts) host += name.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = name.find(']', open);
    const std::vector<std::string> numbers = numbers_of(list, name.substr(open + 1, close - open - 1));
    if (hosts.size() * numbers.size() > kMostHosts) fail(list, "expected at most 65536 hosts");
    std::vector<std::string> longer;
    for (const std::string& host : hosts) {
      for (const std::string& number : numbers) longer.push_back(host + number);
    }
    hosts = std::move(longer);
    name.remove_prefix(close + 1);
  }
  return hosts;
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view list) {
  std::vector<std::string> hosts;
  std::size_t start = 0;
  bool inside = false;
  for (std::size_t at = 0; at <= list.size(); ++at) {
    const char c = at < list.size() ? list[at] : ',';
    if (c == '[') {
      if (inside) fail(list, "expected no bracket in a bracket");
      inside = true;
    } else if (c == ']') {
      if (!inside) fail(list, "expected [ before ]");
      inside = false;
    } else if (c == ',' && (!inside || at == list.size())) {
      if (inside) fail(list, "expected ] at the end");
      if (at == start) fail(list, "expected a host name between the commas, got none");
      for (std::string& host : expand_name(list, list.substr(start, at - start)))
        hosts.push_back(std::move(host));
      if (hosts.size() > kMostHosts) fail(list, "expected at most 65536 hosts");
      start = at + 1;
    } else if (c <= ' ') {
      fail(list, "expected names without spaces");
    }
  }
  return hosts;
}

}  // namespace packsim::microbench
