#pragma once

namespace packsim {

/// sqrt(2 write MTBF), for a write that is short against the time between failures of the run.
/// Source: Young, A first order approximation to the optimum checkpoint interval, CACM 17 (1974).
double young_interval_s(double write_s, double mtbf_s);

/// sqrt(2 write MTBF) (1 + sqrt(x) / 3 + x / 9) - write with x = write / (2 MTBF), for write < 2 MTBF; MTBF
/// beyond.
/// Source: Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, Future
/// Generation Computer Systems 22 (2006).
double daly_interval_s(double write_s, double mtbf_s);

}  // namespace packsim
