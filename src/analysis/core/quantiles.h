// Quantiles of the distributions that intervals and verdicts are made of, to the digits of a double.
#pragma once

namespace fathom::analysis {

// Below it are `p` of all values.
double normal_quantile(double p);
double gamma_quantile(double p, double shape);  // of scale 1
double chi_squared_quantile(double p, double freedom);

// Above it are `tail` of all values.
double gamma_upper_quantile(double tail, double shape);
double students_t_upper_quantile(double tail, double freedom);

// The part of all values that is above t, which is not negative.
double students_t_tail(double t, double freedom);

}  // namespace fathom::analysis
