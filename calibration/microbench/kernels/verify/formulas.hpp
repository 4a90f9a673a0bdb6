#pragma once

#include <cmath>

#if defined(__CUDACC__)
#define PACKSIM_HOST_DEVICE __host__ __device__
#else
#define PACKSIM_HOST_DEVICE
#endif

/// What the elementwise kernels compute for one element, on the GPU in float and, for the references and
/// tests, on the CPU in double.
namespace packsim::microbench {

template <typename T>
struct Pair {
  T first;
  T second;
};

template <typename T>
PACKSIM_HOST_DEVICE inline T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}

/// silu(gate) * up.
template <typename T>
PACKSIM_HOST_DEVICE inline T swiglu_forward(T gate, T up) {
  return gate * sigmoid(gate) * up;
}

/// Gradients of gate and up.
template <typename T>
PACKSIM_HOST_DEVICE inline Pair<T> swiglu_backward(T gate, T up, T gradient) {
  const T s = sigmoid(gate);
  return {gradient * up * s * (T(1) + gate * (T(1) - s)), gradient * gate * s};
}

/// Turns the pair by the angle; the gradient turns by the negative angle.
template <typename T>
PACKSIM_HOST_DEVICE inline Pair<T> rotate(T first, T second, T cosine, T sine) {
  return {first * cosine - second * sine, second * cosine + first * sine};
}

/// y = x w / sqrt(mean(x^2) + epsilon): the gradient of x, where `mean_product` is the mean over the row of
/// gradient * w * x and `scale` is 1 / sqrt(...).
template <typename T>
PACKSIM_HOST_DEVICE inline T rms_norm_backward(T x, T weight, T gradient, T scale, T mean_product) {
  return scale * (weight * gradient - x * scale * scale * mean_product);
}

/// Gradient of a logit: its probability, less one at the target, times the gradient of the row's loss.
template <typename T>
PACKSIM_HOST_DEVICE inline T cross_entropy_backward(T logit, T log_sum, bool is_target, T scale) {
  return (exp(logit - log_sum) - (is_target ? T(1) : T(0))) * scale;
}

/// One step's constants, with the bias corrections of the step.
template <typename T>
struct AdamW {
  T learning_rate;
  T beta1;
  T beta2;
  T epsilon;
  T weight_decay;
  T correction1;  ///< 1 / (1 - beta1^step)
  T correction2;  ///< 1 / (1 - beta2^step)

  PACKSIM_HOST_DEVICE void update(T gradient, T& weight, T& mean, T& square) const {
    mean = beta1 * mean + (T(1) - beta1) * gradient;
    square = beta2 * square + (T(1) - beta2) * gradient * gradient;
    const T direction = mean * correction1 / (sqrt(square * correction2) + epsilon);
    weight -= learning_rate * (direction + weight_decay * weight);
  }
};

}  // namespace packsim::microbench
