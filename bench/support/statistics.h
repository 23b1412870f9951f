// Few, noisy measurements: medians and ranges, never means.
#pragma once

#include <string>
#include <vector>

namespace fathom::bench {

double median(std::vector<double> values);  // NaN for none
// "0.97 [0.95-0.99]"
std::string median_and_range(const std::vector<double>& values, int digits);
std::string number(double value, int digits);  // "-" for NaN

// Prints a Markdown table.
void print_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

// ROUNDS (5) and SECONDS_PER_RUN (3) of the environment.
int rounds();
double seconds_per_run();
// SETTLE (0): seconds of the same work, at least, between the start of a recorder and the run that counts,
// where servers are compared with their neighbours: without what a recorder does once.
double seconds_to_settle();

}  // namespace fathom::bench
