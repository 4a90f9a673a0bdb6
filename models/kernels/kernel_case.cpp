#include "models/kernels/kernel_case.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "models/kernels/collectives.hpp"
#include "models/precision.hpp"
#include "models/value_bytes.hpp"

namespace packsim {
namespace {

using enum KeyKind;

const std::vector<std::string_view> kCaches = {"hot", "cold"};
const std::vector<std::string_view> kPasses = {"fwd", "bwd"};

std::vector<std::string_view> collective_names() {
  std::vector<std::string_view> names;
  for (const CollectiveKind& kind : kCollectiveKinds) names.push_back(kind.name);
  return names;
}

const std::vector<std::string_view> kCollectives = collective_names();

const std::vector<KernelKind> kKinds = {
    {"gemm",
     {{"m", count},
      {"n", count},
      {"k", count},
      {"layout", word, {"tn", "nn", "nt"}},
      {"cache", word, kCaches},
      {"dtype", word, {"bf16", "bf16_into_fp32", "fp8", "fp8_block", "mxfp8", "nvfp4"}, "bf16"}},
     "matrix product, m x k by k x n. tn: forward; nn: gradient of the input; nt: of the weights. "
     "bf16_into_fp32: added to fp32 sums, as Megatron adds gradients of weights. fp8: one scale a tensor; "
     "fp8_block: a scale for each block of 128; mxfp8 and nvfp4: for each of 32 and 16, in the tensor core"},
    {"attention",
     {{"pass", word, kPasses},
      {"docs", documents},
      {"heads", count},
      {"kv_heads", count},
      {"head_dim", count}},
     "packed causal attention, bf16; no document sees another"},
    {"elementwise",
     {{"op", word, {"rms_norm", "swiglu", "rope", "residual_add", "cross_entropy", "embedding"}},
      {"pass", word, kPasses},
      {"rows", count},
      {"cols", count},
      {"cache", word, kCaches}},
     "bf16, rows x cols of its output (cross_entropy: of its logits)"},
    {"copy",
     {{"kind", word, {"device", "host_to_device", "device_to_host"}},
      {"bytes", count},
      {"cache", word, kCaches}},
     "copy of so many bytes; host memory is pinned"},
    {"adamw", {{"parameters", count}}, "fused: bf16 weights and gradients, fp32 master copy and moments"},
    {"launch_gap", {}, "from the start of one empty kernel to the next, in a stream"},
    {"collective",
     {{"op", word, kCollectives}, {"gpus", count}, {"nodes", count}, {"bytes", count}, {"imbalance", number}},
     "bf16, NCCL. gpus in all, over nodes; imbalance: largest over mean bytes that a GPU receives"},
    {"overlap",
     {{"m", count},
      {"n", count},
      {"k", count},
      {"op", word, kCollectives},
      {"gpus", count},
      {"nodes", count},
      {"bytes", count}},
     "the gemm (tn, hot) while the collective runs repeatedly at the same time"},
    {"step",
     {{"model", name},
      {"layers", count},
      {"gc_layers", count_or_0},
      {"sp", count},
      {"dp", count},
      {"zero", count_or_0},
      {"packs", packs}},
     "one training step: each pack a micro-batch of each data-parallel rank, then the optimizer"},
};

// What was expected, if `value` is no value of `key`; empty if it is one.
std::string expected_of(const KernelKey& key, const std::string& value) {
  const auto parse_integer = [&](std::int64_t low) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    return error == std::errc() && end == value.data() + value.size() && number >= low &&
           std::to_string(number) == value;
  };
  switch (key.kind) {
    case count:
      return parse_integer(1) ? "" : "expected an integer of at least 1";
    case count_or_0:
      return parse_integer(0) ? "" : "expected an integer of at least 0";
    case number: {
      double ratio = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), ratio);
      const bool good = error == std::errc() && end == value.data() + value.size() && std::isfinite(ratio);
      return good && ratio >= 1 ? "" : "expected a number of at least 1";
    }
    case word: {
      if (std::ranges::find(key.words, value) != key.words.end()) return "";
      std::string words;
      for (const std::string_view allowed : key.words)
        words += (words.empty() ? "" : ", ") + std::string(allowed);
      return "expected one of " + words;
    }
    case name:
      return value.empty() || value.find(' ') != std::string::npos ? "expected a name" : "";
    case documents:
    case packs:
      try {
        for (std::size_t start = 0; start <= value.size();) {
          const std::size_t end =
              key.kind == packs ? std::min(value.find('/', start), value.size()) : value.size();
          parse_documents(std::string_view(value).substr(start, end - start));
          start = end + 1;
        }
        return "";
      } catch (const std::invalid_argument&) {
        return key.kind == packs ? "expected packs like 8x512+1x4096/4x2048"
                                 : "expected documents like 8x512+1x4096";
      }
  }
  return "";
}

std::string mistake_of(const KernelKey& key, const std::string& expected, const std::string& value) {
  return std::string(key.name) + ": " + expected + ", got \"" + value + "\"";
}

std::size_t key_index(const KernelKind& kind, std::string_view key) {
  const auto at = std::ranges::find(kind.keys, key, &KernelKey::name);
  return static_cast<std::size_t>(at - kind.keys.begin());
}

std::size_t known_key_index(const KernelKind& kind, std::string_view key) {
  const std::size_t index = key_index(kind, key);
  if (index == kind.keys.size())
    throw std::logic_error("kernel " + std::string(kind.name) + " has no key " + std::string(key));
  return index;
}

std::string canonical(const KernelKey& key, const std::string& value) {
  if (key.kind == documents) return format_documents(parse_documents(value));
  if (key.kind != packs) return value;
  std::string text;
  for (std::size_t start = 0; start <= value.size();) {
    const std::size_t end = std::min(value.find('/', start), value.size());
    text += (start == 0 ? "" : "/") + canonical({"", documents}, value.substr(start, end - start));
    start = end + 1;
  }
  return text;
}

// Bytes of bf16 values that each element of the output stands for: reads and writes of the fused kernel.
double elementwise_values(std::string_view op, bool backward) {
  if (op == "rms_norm") return backward ? 3 : 2;       // x, dy -> dx; x -> y
  if (op == "swiglu") return backward ? 5 : 3;         // gate, up, dy -> dgate, dup; gate, up -> y
  if (op == "residual_add") return 3;                  // two in, one out, both ways
  if (op == "cross_entropy") return backward ? 2 : 1;  // logits -> dlogits; logits -> a loss a row
  if (op == "embedding") return backward ? 3 : 2;      // dy added to the table; table -> y
  return 2;                                            // rope: x -> y
}

}  // namespace

std::span<const KernelKind> kernel_kinds() {
  return kKinds;
}

const KernelKind& kernel_kind(std::string_view name) {
  const auto at = std::ranges::find(kKinds, name, &KernelKind::name);
  if (at != kKinds.end()) return *at;
  std::string names;
  for (const KernelKind& kind : kKinds) names += (names.empty() ? "" : ", ") + std::string(kind.name);
  throw std::invalid_argument("expected a kernel, one of " + names + ", got \"" + std::string(name) + "\"");
}

KernelCase KernelCase::parse(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    if (end > start) words.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  KernelCase result;
  result.kind_ = &kernel_kind(words.empty() ? "" : words.front());
  const std::vector<KernelKey>& keys = result.kind_->keys;
  result.values_.resize(keys.size());
  std::vector<bool> given(keys.size());
  std::string mistakes;
  const auto report = [&](const std::string& mistake) {
    mistakes += (mistakes.empty() ? "" : "; ") + mistake;
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    const std::size_t index = key_index(*result.kind_, key);
    if (equals == std::string::npos) {
      report("expected key=value, got \"" + words[i] + "\"");
    } else if (index == keys.size()) {
      report("expected no such key, got " + words[i]);
    } else if (given[index]) {
      report("expected " + key + " once, got it twice");
    } else {
      given[index] = true;
      const std::string value = words[i].substr(equals + 1);
      const std::string expected = expected_of(keys[index], value);
      if (expected.empty()) {
        result.values_[index] = canonical(keys[index], value);
      } else {
        report(mistake_of(keys[index], expected, value));
      }
    }
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (given[i]) continue;
    result.values_[i] = keys[i].standard;
    if (keys[i].standard.empty()) report("expected a value of " + std::string(keys[i].name) + ", got none");
  }
  if (!mistakes.empty())
    throw std::invalid_argument("kernel " + std::string(result.kernel()) + ": " + mistakes);
  return result;
}

KernelCase KernelCase::of(std::string_view kernel, const std::vector<std::string>& values) {
  KernelCase result;
  result.kind_ = &kernel_kind(kernel);
  const std::vector<KernelKey>& keys = result.kind_->keys;
  const std::size_t n_required =
      static_cast<std::size_t>(std::ranges::count(keys, std::string_view{}, &KernelKey::standard));
  if (values.size() < n_required || values.size() > keys.size())
    throw std::logic_error("kernel " + std::string(kernel) + " has " + std::to_string(keys.size()) +
                           " keys, got " + std::to_string(values.size()) + " values");
  std::string mistakes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string expected = expected_of(keys[i], values[i]);
    if (expected.empty()) {
      result.values_.push_back(canonical(keys[i], values[i]));
    } else {
      mistakes += (mistakes.empty() ? "" : "; ") + mistake_of(keys[i], expected, values[i]);
    }
  }
  if (!mistakes.empty()) throw std::invalid_argument("kernel " + std::string(kernel) + ": " + mistakes);
  for (std::size_t i = values.size(); i < keys.size(); ++i) result.values_.emplace_back(keys[i].standard);
  return result;
}

std::string KernelCase::text() const {
  return text_without({});
}

std::string KernelCase::text_without(std::initializer_list<std::string_view> keys) const {
  std::string text(kernel());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const auto& [key, kind, words, standard] = kind_->keys[i];
    if (!standard.empty() && values_[i] == standard) continue;
    if (std::ranges::find(keys, key) == keys.end()) text += " " + std::string(key) + "=" + values_[i];
  }
  return text;
}

const std::string& KernelCase::value(std::string_view key) const {
  return values_[known_key_index(*kind_, key)];
}

std::int64_t KernelCase::integer(std::string_view key) const {
  return std::stoll(value(key));
}

double KernelCase::number(std::string_view key) const {
  return std::stod(value(key));
}

Documents KernelCase::documents(std::string_view key) const {
  return parse_documents(value(key));
}

std::vector<Documents> KernelCase::packs(std::string_view key) const {
  std::vector<Documents> all;
  const std::string& text = value(key);
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('/', start), text.size());
    all.push_back(parse_documents(std::string_view(text).substr(start, end - start)));
    start = end + 1;
  }
  return all;
}

KernelCase KernelCase::with(std::string_view key, std::string_view value) const {
  std::vector<std::string> values = values_;
  values[known_key_index(*kind_, key)] = std::string(value);
  return of(kernel(), values);
}

double kernel_flop(const KernelCase& kernel) {
  if (kernel.kernel() == "gemm") {
    return 2.0 * kernel.number("m") * kernel.number("n") * kernel.number("k");
  }
  if (kernel.kernel() == "attention") {
    // Two products of 2 head_dim flop a pair, over half the square (FlashAttention-2, arXiv 2307.08691, 4.1).
    const double forward =
        2.0 * kernel.number("heads") * kernel.number("head_dim") * kernel.documents("docs").squared_tokens();
    return kernel.value("pass") == "bwd" ? 2.5 * forward : forward;
  }
  return 0;
}

double kernel_bytes(const KernelCase& kernel) {
  if (kernel.kernel() == "gemm") {
    const std::string& dtype = kernel.value("dtype");
    const double operand_bytes = precision_of_dtype(dtype).value_bytes;
    // Sums of fp32 are read and written.
    const double out_bytes = dtype == "bf16_into_fp32" ? 2 * kFp32Bytes : kBf16Bytes;
    return operand_bytes *
               (kernel.number("m") * kernel.number("k") + kernel.number("k") * kernel.number("n")) +
           out_bytes * kernel.number("m") * kernel.number("n");
  }
  if (kernel.kernel() == "elementwise") {
    return kBf16Bytes * elementwise_values(kernel.value("op"), kernel.value("pass") == "bwd") *
           kernel.number("rows") * kernel.number("cols");
  }
  if (kernel.kernel() == "copy") {
    // A copy on the device reads and writes every byte there.
    return (kernel.value("kind") == "device" ? 2 : 1) * kernel.number("bytes");
  }
  if (kernel.kernel() == "adamw") {
    // bf16 gradient read, bf16 weight written; fp32 master copy and two moments read and written.
    return (2 * kBf16Bytes + 2 * 3 * 4) * kernel.number("parameters");
  }
  if (kernel.kernel() == "collective") return kernel.number("bytes");
  return 0;
}

}  // namespace packsim
