#pragma once

#include <Eigen/Core>

namespace packsim {

// Eigen's matrix products and decompositions, which take long to compile, in one file.

/// jacobian^T diag(weights) jacobian.
Eigen::MatrixXd weighted_normal(const Eigen::MatrixXd& jacobian, const Eigen::VectorXd& weights);
/// jacobian^T values.
Eigen::VectorXd transposed_product(const Eigen::MatrixXd& jacobian, const Eigen::VectorXd& values);
/// x of matrix x = right; the matrix is symmetric.
Eigen::VectorXd solve_symmetric(const Eigen::MatrixXd& matrix, const Eigen::VectorXd& right);
Eigen::MatrixXd inverse_symmetric(const Eigen::MatrixXd& matrix);
/// The x that makes columns x nearest to the values.
Eigen::Vector2d least_squares(const Eigen::MatrixX2d& columns, const Eigen::VectorXd& values);
/// (columns^T columns)^-1, or its pseudo-inverse where there is none.
Eigen::Matrix2d inverse_normal(const Eigen::MatrixX2d& columns);

}  // namespace packsim
