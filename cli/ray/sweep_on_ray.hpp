#pragma once

#include <string>
#include <vector>

namespace packsim {

/// A sweep whose points are computed on a Ray cluster.
struct RaySweep {
  std::string address;  ///< as ray.init() takes it
  std::string grid;     ///< as read_grid() takes them
  std::vector<std::string> varied;
  std::vector<std::string> settings;
  std::string out;  ///< the database, which nobody else may have open
  bool quiet = false;
};

/// The Python interpreter that has the package packsim with its simulator, and Ray: the first of
/// python_interpreters(). Throws as that does, and std::runtime_error that says what each of them lacks and
/// what to install.
std::string python_with_ray();

/// Has the points that the database lacks computed on the cluster by packsim.ray.sweep(), which adds them.
/// Throws ExitCode where that fails, after it has said why.
void sweep_on_ray(const std::string& python, const RaySweep& sweep);

}  // namespace packsim
