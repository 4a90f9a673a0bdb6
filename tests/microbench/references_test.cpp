#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "calibration/microbench/kernels/verify/formulas.hpp"
#include "calibration/microbench/kernels/verify/reference.hpp"

namespace packsim::microbench {
namespace {

using Doubles = std::vector<double>;

Doubles random_values(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Doubles values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
  return values;
}

double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The gradient of `loss` by each of `at`, from the difference over a small step both ways.
void check_gradient(Doubles& at, const Doubles& gradient, const std::function<double()>& loss) {
  constexpr double kStep = 1e-5;
  REQUIRE(gradient.size() == at.size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double before = at[i];
    at[i] = before + kStep;
    const double above = loss();
    at[i] = before - kStep;
    const double below = loss();
    at[i] = before;
    CHECK(gradient[i] == Approx((above - below) / (2 * kStep)).margin(1e-8).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("a product's layouts say how its operands lie in memory") {
  // [1 2; 3 4] [5 6; 7 8] = [19 22; 43 50]
  const Doubles product = {19, 22, 43, 50};
  CHECK(reference_gemm({1, 2, 3, 4}, {5, 6, 7, 8}, 2, 2, 2, "nn") == product);
  CHECK(reference_gemm({1, 2, 3, 4}, {5, 7, 6, 8}, 2, 2, 2, "tn") == product);
  CHECK(reference_gemm({1, 3, 2, 4}, {5, 6, 7, 8}, 2, 2, 2, "nt") == product);
}

TEST_CASE("swiglu is silu(gate) x up, with the gradients of both") {
  CHECK(swiglu_forward(2.0, 3.0) == Approx(2 / (1 + std::exp(-2.0)) * 3));
  Doubles values = {0.7, -1.3};
  const Pair<double> gradient = swiglu_backward(values[0], values[1], 0.4);
  check_gradient(values, {gradient.first, gradient.second},
                 [&] { return 0.4 * swiglu_forward(values[0], values[1]); });
}

TEST_CASE("a rotation is undone by the negative angle") {
  const Pair<double> turned = rotate(3.0, 4.0, std::cos(0.3), std::sin(0.3));
  CHECK(turned.first * turned.first + turned.second * turned.second == Approx(25));
  const Pair<double> back = rotate(turned.first, turned.second, std::cos(0.3), -std::sin(0.3));
  CHECK(back.first == Approx(3));
  CHECK(back.second == Approx(4));
}

TEST_CASE("rms_norm divides by the root of the mean square, with the gradients of x and the weight") {
  // mean(3^2, 4^2) = 12.5
  CHECK(reference_rms_norm(1, 2, {3, 4}, {1, 2}, {0, 0}, 0).y[1] == Approx(2 * 4 / std::sqrt(12.5)));
  Doubles x = random_values(12, 1);
  Doubles weight = random_values(4, 2);
  const Doubles y_gradient = random_values(12, 3);
  const auto run = [&] { return reference_rms_norm(3, 4, x, weight, y_gradient, 1e-5); };
  const ReferenceRmsNorm result = run();
  check_gradient(x, result.x_gradient, [&] { return dot(run().y, y_gradient); });
  check_gradient(weight, result.weight_gradient, [&] { return dot(run().y, y_gradient); });
}

TEST_CASE("cross_entropy is the logarithm of the sum less the target's logit, with the gradient") {
  // All four alike: -ln(1/4).
  CHECK(reference_cross_entropy(1, 4, {2, 2, 2, 2}, {1}, 1).losses[0] == Approx(std::log(4.0)));
  Doubles logits = random_values(10, 4);
  const auto run = [&] { return reference_cross_entropy(2, 5, logits, {0, 3}, 0.5); };
  check_gradient(logits, run().gradient, [&] { return 0.5 * (run().losses[0] + run().losses[1]); });
}

TEST_CASE("attention sees its own document's tokens up to its own, with the gradients of all three") {
  const Documents documents = parse_documents("1x3+2x2");
  Doubles query = random_values(7 * 2 * 4, 5);
  Doubles key = random_values(7 * 1 * 4, 6);
  Doubles value = random_values(7 * 1 * 4, 7);
  const Doubles out_gradient = random_values(query.size(), 8);
  const auto run = [&] { return reference_attention(documents, 2, 1, 4, query, key, value, out_gradient); };
  const ReferenceAttention result = run();
  // The first token of each document sees itself alone: its output is its value, its statistic its own score.
  for (const std::size_t token : {0, 3, 5}) {
    for (std::size_t d = 0; d < 4; ++d) CHECK(result.out[token * 8 + 4 + d] == Approx(value[token * 4 + d]));
    double score = 0;
    for (std::size_t d = 0; d < 4; ++d) score += query[token * 8 + d] * key[token * 4 + d] / 2;  // sqrt(4)
    CHECK(result.stats[token * 2] == Approx(score));
  }
  const auto loss = [&] { return dot(run().out, out_gradient); };
  check_gradient(query, result.query_gradient, loss);
  check_gradient(key, result.key_gradient, loss);
  check_gradient(value, result.value_gradient, loss);
}

TEST_CASE("adamw's first step moves a weight by the learning rate, and decays it") {
  // After one step the corrected means are the gradient and its square: a step of 0.1 against its sign, and
  // 0.1 x 0.5 of the weight of 2 decays: 2 - 0.1 - 0.1 = 1.8.
  const AdamW<double> constants{0.1, 0.9, 0.95, 0, 0.5, 1 / (1 - 0.9), 1 / (1 - 0.95)};
  double weight = 2;
  double mean = 0;
  double square = 0;
  constants.update(3, weight, mean, square);
  CHECK(weight == Approx(1.8));
  CHECK(mean == Approx(0.3));
  CHECK(square == Approx(0.45));
}

}  // namespace packsim::microbench
