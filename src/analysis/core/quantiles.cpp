// The one source that includes Boost.Math: each use of its templates is compiled in full.
#include "analysis/core/quantiles.h"

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

namespace fathom::analysis {
namespace {

// The library would take each step in long double. Thousands of functions are judged, and the last digit is not needed.
// Written as the library writes it when it passes it on, so that nothing is compiled twice.
using InDouble = boost::math::policies::policy<boost::math::policies::promote_float<false>,
                                               boost::math::policies::promote_double<false>>;
using StudentsT = boost::math::students_t_distribution<double, InDouble>;

}  // namespace

double normal_quantile(double p) {
  return -std::sqrt(2.0) * boost::math::erfc_inv(2 * p, InDouble());
}

double gamma_quantile(double p, double shape) {
  return boost::math::gamma_p_inv(shape, p, InDouble());
}

double chi_squared_quantile(double p, double freedom) {
  return 2 * gamma_quantile(p, freedom / 2);
}

double gamma_upper_quantile(double tail, double shape) {
  return boost::math::gamma_q_inv(shape, tail, InDouble());
}

double students_t_upper_quantile(double tail, double freedom) {
  return boost::math::quantile(boost::math::complement(StudentsT(freedom), tail));
}

double students_t_tail(double t, double freedom) {
  return boost::math::cdf(boost::math::complement(StudentsT(freedom), t));
}

}  // namespace fathom::analysis
