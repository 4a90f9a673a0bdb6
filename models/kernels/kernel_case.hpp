#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/documents.hpp"

namespace packsim {

/// The values that a key of a kernel may have.
enum class KeyKind {
  count,       ///< an integer of at least 1
  count_or_0,  ///< an integer of at least 0
  number,      ///< a number of at least 1, such as a ratio
  word,        ///< one of KernelKey::words
  name,        ///< any text without spaces, such as a model name
  documents,   ///< the documents of one pack, such as 8x512+1x4096
  packs,       ///< packs that run one after another, such as 8x512+1x4096/4x2048
};

struct KernelKey {
  std::string_view name;
  KeyKind kind;
  std::vector<std::string_view> words = {};  ///< only for KeyKind::word
  /// What a case that does not give the key has; texts leave this value out. Empty: the key is required. Keys
  /// with such a value are a kind's last ones.
  std::string_view standard = {};
};

/// One kind of kernel that can be measured and predicted: a row of kernel_kinds().
struct KernelKind {
  std::string_view name;
  std::vector<KernelKey> keys;  ///< in the order of the case's text
  std::string_view summary;
};

/// Every kind of kernel that packsim knows. The microbenchmark, measurement lists, the fit, profiles and
/// coverage all use this table.
std::span<const KernelKind> kernel_kinds();
/// The kind of that name. Throws std::invalid_argument, which lists the known kernels, for any other name.
const KernelKind& kernel_kind(std::string_view name);

/// One kernel at one size, such as "gemm m=4096 n=14336 k=4096 layout=tn cache=hot". Its text identifies it
/// in measurement lists, measurement files and profiles: equal cases have equal texts.
class KernelCase {
 public:
  /// Parses a text, whose keys may be in any order. Throws std::invalid_argument that names every key that is
  /// missing, unknown, given twice, or has a wrong value.
  static KernelCase parse(std::string_view text);
  /// Makes a case of values, which are in the order of the kind's keys. The last ones may be left out if they
  /// have a standard value.
  static KernelCase of(std::string_view kernel, const std::vector<std::string>& values);

  std::string_view kernel() const { return kind_->name; }
  const KernelKind& kind() const { return *kind_; }
  /// The canonical text: the kernel and its keys in the order of kernel_kinds().
  std::string text() const;
  /// The same text without some keys. Cases that differ only in these keys share it; curves are named by it.
  std::string text_without(std::initializer_list<std::string_view> keys) const;

  /// The value of a key. Throws std::logic_error for a key that this kernel does not have, as that is a bug
  /// in the caller.
  const std::string& value(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;
  Documents documents(std::string_view key) const;
  /// One element for each pack.
  std::vector<Documents> packs(std::string_view key) const;
  /// A copy of the case with another value for a key. Throws std::invalid_argument for a wrong value.
  KernelCase with(std::string_view key, std::string_view value) const;

  bool operator==(const KernelCase& other) const { return kind_ == other.kind_ && values_ == other.values_; }

 private:
  const KernelKind* kind_ = nullptr;
  std::vector<std::string> values_;  // [n_keys]
};

/// Floating-point operations of a gemm or attention case: 2 m n k for a gemm; causal attention as half the
/// square of each document. The backward pass of attention has 2.5 times the flop of the forward pass,
/// because it recomputes the scores. 0 for other kernels.
double kernel_flop(const KernelCase& kernel);

/// Bytes that an elementwise, copy, adamw or gemm case must read and write, each operand once; or the payload
/// of a collective as nccl-tests counts it: the gathered buffer of an all-gather, for all others the buffer
/// that a GPU sends from. 0 for other kernels.
double kernel_bytes(const KernelCase& kernel);

}  // namespace packsim
