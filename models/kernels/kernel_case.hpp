#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/documents.hpp"

namespace packsim {

/// What the value of a key of a kernel may be.
enum class KeyKind {
  count,       ///< an integer of at least 1
  count_or_0,  ///< an integer of at least 0
  number,      ///< a number of at least 1: a ratio
  word,        ///< one of the words
  name,        ///< any text without spaces: a model
  documents,   ///< the documents of one pack: 8x512+1x4096
  packs,       ///< packs one after another: 8x512+1x4096/4x2048
};

struct KernelKey {
  std::string_view name;
  KeyKind kind;
  std::vector<std::string_view> words = {};  ///< of a word
};

/// One kind of kernel that can be measured and predicted: a row of the table.
struct KernelKind {
  std::string_view name;
  std::vector<KernelKey> keys;  ///< in the order of the case's text
  std::string_view summary;
};

/// Every kind of kernel that packsim knows. The microbenchmark, measurement lists, the fit, profiles and
/// coverage all use this table.
std::span<const KernelKind> kernel_kinds();
/// The row of the table; throws std::invalid_argument that lists the kernels for any other name.
const KernelKind& kernel_kind(std::string_view name);

/// One kernel at one size: "gemm m=4096 n=14336 k=4096 layout=tn cache=hot". Its text is its identity in
/// measurement lists, measurement files and profiles; equal cases have equal texts.
class KernelCase {
 public:
  /// Reads the text, keys in any order. Throws std::invalid_argument that names every key that is missing,
  /// unknown, given twice, or of a wrong value.
  static KernelCase parse(std::string_view text);
  /// The same from values, in the order of the kind's keys.
  static KernelCase of(std::string_view kernel, const std::vector<std::string>& values);

  std::string_view kernel() const { return kind_->name; }
  const KernelKind& kind() const { return *kind_; }
  /// Canonical: the kernel and its keys in the order of the table.
  std::string text() const;
  /// The same without some keys: what cases that differ only in these have in common, such as a curve's name.
  std::string text_without(std::initializer_list<std::string_view> keys) const;

  /// The value of a key of this kernel; any other key is a mistake in the code (std::logic_error).
  const std::string& value(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;
  Documents documents(std::string_view key) const;
  /// One Documents a pack.
  std::vector<Documents> packs(std::string_view key) const;
  /// The same case with another value of a key. Throws std::invalid_argument for a wrong value.
  KernelCase with(std::string_view key, std::string_view value) const;

  bool operator==(const KernelCase& other) const { return kind_ == other.kind_ && values_ == other.values_; }

 private:
  const KernelKind* kind_ = nullptr;
  std::vector<std::string> values_;  // [n_keys]
};

/// Floating-point operations of a gemm or attention case: 2 m n k; causal attention as half the square of
/// each document, backward 2.5 times forward (it computes the scores again). 0 for other kernels.
double kernel_flop(const KernelCase& kernel);

/// Bytes that an elementwise, copy, adamw or gemm case reads and writes at least, each operand once; the
/// payload of a collective (nccl-tests' size: all-gather the gathered buffer, the others the buffer a GPU
/// sends from). 0 for other kernels.
double kernel_bytes(const KernelCase& kernel);

}  // namespace packsim
