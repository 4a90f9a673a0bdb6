#include "sim/variability/normal.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

namespace packsim {
namespace {

using Coefficients = std::array<double, 8>;

// The numerators and denominators of AS 241, constant term first.
constexpr Coefficients kCentre = {3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427,
                                  13731.693765509461125, 45921.953931549871457, 67265.770927008700853,
                                  33430.575583588128105, 2509.0809287301226727};
constexpr Coefficients kCentreBelow = {1.0,
                                       42.313330701600911252,
                                       687.18700749205790830,
                                       5394.1960214247511077,
                                       21213.794301586595867,
                                       39307.895800092710610,
                                       28729.085735721942674,
                                       5226.4952788528545610};
constexpr Coefficients kTail = {1.42343711074968357734,   4.63033784615654529590,   5.76949722146069140550,
                                3.64784832476320460504,   1.27045825245236838258,   0.241780725177450611770,
                                0.0227238449892691845833, 7.74545014278341407640e-4};
constexpr Coefficients kTailBelow = {1.0,
                                     2.05319162663775882187,
                                     1.67638483018380384940,
                                     0.689767334985100004550,
                                     0.148103976427480074590,
                                     0.0151986665636164571966,
                                     5.47593808499534494600e-4,
                                     1.05075007164441684324e-9};
constexpr Coefficients kFar = {6.65790464350110377720,    5.46378491116411436990,   1.78482653991729133580,
                               0.296560571828504891230,   0.0265321895265761230930, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr Coefficients kFarBelow = {1.0,
                                    0.599832206555887937690,
                                    0.136929880922735805310,
                                    0.0148753612908506148525,
                                    7.86869131145613259100e-4,
                                    1.84631831751005468180e-5,
                                    1.42151175831644588870e-7,
                                    2.04426310338993978564e-15};

double ratio(const Coefficients& above, const Coefficients& below, double x) {
  double numerator = 0;
  double denominator = 0;
  for (std::size_t i = above.size(); i-- > 0;) {
    numerator = numerator * x + above[i];
    denominator = denominator * x + below[i];
  }
  return numerator / denominator;
}

}  // namespace

double normal_upper_tail(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

double normal_upper_quantile(double tail) {
  if (!(tail > 0 && tail < 1)) {
    throw std::invalid_argument("tail: expected a probability above 0 and below 1, got " +
                                std::to_string(tail));
  }
  const double from_middle = 0.5 - tail;
  if (std::abs(from_middle) <= 0.425) {
    return from_middle * ratio(kCentre, kCentreBelow, 0.180625 - from_middle * from_middle);
  }
  const double r = std::sqrt(-std::log(tail < 0.5 ? tail : 1 - tail));
  const double z = r <= 5 ? ratio(kTail, kTailBelow, r - 1.6) : ratio(kFar, kFarBelow, r - 5);
  return tail < 0.5 ? z : -z;
}

}  // namespace packsim
