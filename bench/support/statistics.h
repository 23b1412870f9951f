// For few, noisy measurements: medians and ranges, never means.
#pragma once

#include <string>
#include <vector>

namespace fathom::bench {

double median(std::vector<double> values);  // NaN if empty
// "0.97 [0.95-0.99]"
std::string median_and_range(const std::vector<double>& values, int digits);
std::string number(double value, int digits);  // "-" for NaN

// Prints a Markdown table.
void print_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

// From the environment: ROUNDS (5) and SECONDS_PER_RUN (3).
int rounds();
double seconds_per_run();
// SETTLE (0): minimum seconds of the same work between the start of a recorder and the measured run, for
// comparing servers with each other: excludes what a recorder does only once.
double seconds_to_settle();

}  // namespace fathom::bench
