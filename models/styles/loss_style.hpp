#pragma once

#include <array>
#include <string_view>

#include "models/styles/kernel_style.hpp"
#include "packing/policies/policies.hpp"

namespace packsim {

/// How a stack computes the loss of the logits, and what that holds at its peak.
struct LossStyle {
  std::string_view name;
  std::string_view text;
  double logits_bytes = 0;  ///< held at the peak for each token and vocabulary entry
  /// The same where tensor parallelism splits the vocabulary. 0: as without.
  double split_logits_bytes = 0;
  /// Held at the peak for each token and value of the hidden state, beside the norm.
  double hidden_bytes = 0;
  PartStyle kernels = {};  ///< of the logits, beside the head's products

  double held_bytes(int tp_degree) const {
    return tp_degree > 1 && split_logits_bytes > 0 ? split_logits_bytes : logits_bytes;
  }
  bool operator==(const LossStyle&) const = default;
};

/// transformers 5.17: bf16 logits become fp32, their log-softmax is kept, and the backward pass makes a
/// gradient of it and that of the logits: three tensors of fp32 at the peak. That is where nine measured runs
/// have theirs (docs/accuracy/transformers.md). The dispatcher counts 14 and 22 bytes moved. PyTorch's
/// log-softmax reads a row three times, for the largest value, the sum and the output, and its gradient
/// twice, unless the row fits into shared memory (SoftMax.cu, cunn_SoftMaxForward and cunn_SoftMaxBackward).
/// That makes 22 and 26, which is too much for vocabularies below some 50 000. With a split vocabulary,
/// PyTorch's loss_parallel holds four tensors of fp32 while it makes the gradient: log-softmax, gradient of
/// the likelihood, and the sum of that and the exponential (_nll_loss_and_log_softmax_backward in
/// torch/distributed/tensor/parallel/loss.py at 02eef6b8).
inline constexpr LossStyle kUpcastLoss = {
    .name = "upcast",
    .text = "logits in fp32, their log-softmax and its gradient (transformers, torchtitan)",
    .logits_bytes = 12,
    .split_logits_bytes = 16,
    .hidden_bytes = 2,
    .kernels = {.forward = {.launches = 6, .bytes = 22}, .backward = {.launches = 6, .bytes = 26}}};
/// The log-softmax and its gradient in fp32. Public peaks of LoRA jobs have 8 bytes a logit more than the
/// same jobs with a fused loss.
inline constexpr LossStyle kPlainLoss = {
    .name = "plain", .text = "a log-softmax in fp32 and its gradient", .logits_bytes = 8, .hidden_bytes = 2};
/// Megatron-Core's vocab_parallel_cross_entropy: an fp32 copy that becomes softmax and gradient in place, and
/// the gradient in bf16 beside the logits (cross_entropy.py at 00611e6e).
inline constexpr LossStyle kVocabularyParallelLoss = {
    .name = "vocabulary_parallel",
    .text = "one fp32 copy of the logits in place, and their gradient in bf16 (Megatron-Core)",
    .logits_bytes = 6,
    .hidden_bytes = 2};
/// The gradient is written over the bf16 logits: Unsloth's kernel, and the loop with which this project
/// measures steps.
inline constexpr LossStyle kInPlaceLoss = {
    .name = "in_place", .text = "the gradient written over the logits in bf16", .logits_bytes = 2};
/// Liger's fused linear cross entropy makes logits, loss and gradients for a chunk of tokens at a time: as
/// many logits as the hidden states have values, twice that where the chunk is rounded up, and the gradient
/// of its input (fused_linear_cross_entropy.py at 00eba634).
inline constexpr LossStyle kFusedLoss = {
    .name = "fused",
    .text = "logits and their gradient for a chunk of tokens at a time (Liger, cut cross entropy)",
    .hidden_bytes = 6};

inline constexpr std::array<PolicyName<const LossStyle*>, 5> kLossStyles = {{
    {&kPlainLoss, kPlainLoss.name, kPlainLoss.text},
    {&kUpcastLoss, kUpcastLoss.name, kUpcastLoss.text},
    {&kVocabularyParallelLoss, kVocabularyParallelLoss.name, kVocabularyParallelLoss.text},
    {&kInPlaceLoss, kInPlaceLoss.name, kInPlaceLoss.text},
    {&kFusedLoss, kFusedLoss.name, kFusedLoss.text},
}};

}  // namespace packsim
