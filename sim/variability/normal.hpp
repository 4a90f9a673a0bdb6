#pragma once

namespace packsim {

/// The probability that a standard normal number is above z.
double normal_upper_tail(double z);

/// The z that a standard normal number is above with this probability, in (0, 1); to 15 digits, and as good
/// in the far tail. Throws std::invalid_argument outside (0, 1). Source: Wichura, Algorithm AS 241, Applied
/// Statistics 37 (1988), routine PPND16.
double normal_upper_quantile(double tail);

}  // namespace packsim
