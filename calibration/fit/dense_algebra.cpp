#include "calibration/fit/dense_algebra.hpp"

#include <Eigen/Dense>

namespace packsim {

Eigen::MatrixXd weighted_normal(const Eigen::MatrixXd& jacobian, const Eigen::VectorXd& weights) {
  return jacobian.transpose() * weights.asDiagonal() * jacobian;
}

Eigen::VectorXd transposed_product(const Eigen::MatrixXd& jacobian, const Eigen::VectorXd& values) {
  return jacobian.transpose() * values;
}

Eigen::VectorXd solve_symmetric(const Eigen::MatrixXd& matrix, const Eigen::VectorXd& right) {
  return matrix.ldlt().solve(right);
}

Eigen::MatrixXd inverse_symmetric(const Eigen::MatrixXd& matrix) {
  return matrix.ldlt().solve(Eigen::MatrixXd::Identity(matrix.rows(), matrix.cols()));
}

Eigen::Vector2d least_squares(const Eigen::MatrixX2d& columns, const Eigen::VectorXd& values) {
  return columns.colPivHouseholderQr().solve(values);
}

Eigen::Matrix2d inverse_normal(const Eigen::MatrixX2d& columns) {
  const Eigen::Matrix2d normal = columns.transpose() * columns;
  return normal.completeOrthogonalDecomposition().pseudoInverse();
}

}  // namespace packsim
