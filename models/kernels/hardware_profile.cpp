#include "models/kernels/hardware_profile.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace packsim {
namespace {

template <typename Item>
const Item* find_key(const std::vector<Item>& items, std::string_view key) {
  const auto at =
      std::ranges::lower_bound(items, key, {}, [](const Item& item) -> std::string_view { return item.key; });
  return at != items.end() && at->key == key ? &*at : nullptr;
}

template <typename Item>
std::vector<const Item*> find_start(const std::vector<Item>& items, std::string_view start) {
  std::vector<const Item*> found;
  auto at = std::ranges::lower_bound(items, start, {},
                                     [](const Item& item) -> std::string_view { return item.key; });
  for (; at != items.end() && at->key.starts_with(start); ++at) found.push_back(&*at);
  return found;
}

}  // namespace

std::string_view evidence_name(Evidence evidence) {
  switch (evidence) {
    case Evidence::measured:
      return "measured";
    case Evidence::interpolated:
      return "interpolated";
    case Evidence::extrapolated:
      return "extrapolated";
    case Evidence::transferred:
      return "transferred";
    case Evidence::missing:
      break;
  }
  return "missing";
}

double KernelModel::number(std::string_view name) const {
  const auto at = std::ranges::find(numbers, name, &FittedNumber::name);
  if (at == numbers.end()) throw std::logic_error(key + " has no number " + std::string(name));
  return at->value;
}

const KernelCurve* HardwareProfile::curve(std::string_view key) const {
  return find_key(curves, key);
}

const KernelModel* HardwareProfile::model(std::string_view key) const {
  return find_key(models, key);
}

std::vector<const KernelCurve*> HardwareProfile::curves_of(std::string_view start) const {
  return find_start(curves, start);
}

std::vector<const KernelModel*> HardwareProfile::models_of(std::string_view start) const {
  return find_start(models, start);
}

std::string kernel_family(const KernelCase& kernel) {
  return kernel_family(kernel.text());
}

std::string kernel_family(std::string_view text) {
  const std::string kind(text.substr(0, text.find(' ')));
  const auto with = [&](std::string_view key) {
    return " " + std::string(key) + "=" + std::string(key_value(text, key));
  };
  if (kind == "attention") return kind + with("pass");
  if (kind == "gemm" && !key_value(text, "dtype").empty()) return kind + with("dtype");
  if (kind == "elementwise") return kind + with("op") + with("pass");
  if (kind == "copy") return kind + with("kind");
  // A network is another thing than the links of a node, and mostly measured by somebody else.
  if (kind == "collective")
    return kind + with("op") + (key_value(text, "nodes") == "1" ? "" : " between nodes");
  return kind;
}

CurvePlace curve_place(const KernelCase& kernel) {
  const std::string_view kind = kernel.kernel();
  if (kind == "gemm") {
    // The side that the tokens of a micro-batch give: rows of y and of dx, the inner side of dW.
    if (kernel.value("layout") == "nt") return {kernel.text_without({"k"}), "k", kernel.number("k")};
    return {kernel.text_without({"m"}), "m", kernel.number("m")};
  }
  if (kind == "attention") return {kernel.text_without({"docs"}), "length_tokens", 0};
  if (kind == "elementwise") return {kernel.text_without({"rows", "cols"}), "bytes", kernel_bytes(kernel)};
  if (kind == "copy") return {kernel.text_without({"bytes"}), "bytes", kernel_bytes(kernel)};
  if (kind == "adamw")
    return {kernel.text_without({"parameters"}), "parameters", kernel.number("parameters")};
  if (kind == "collective") return {kernel.text_without({"bytes"}), "bytes", kernel.number("bytes")};
  return {kernel.text(), "launches", 1};
}

std::string_view key_value(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const std::size_t equals = at + key.size();
    if (at == 0 || text[at - 1] != ' ' || equals >= text.size() || text[equals] != '=') continue;
    const std::string_view value = text.substr(equals + 1);
    return value.substr(0, value.find(' '));
  }
  return {};
}

double key_number(std::string_view text, std::string_view key) {
  const std::string_view value = key_value(text, key);
  double number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

}  // namespace packsim
