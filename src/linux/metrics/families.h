// Metrics as Prometheus and OpenMetrics have them: families of samples with labels. Values only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::metrics {

enum class Type : std::uint8_t {
  kUnknown,
  kGauge,    // a value that goes up and down
  kCounter,  // only goes up, and begins at 0 again when its program does
  kHistogram,
  kSummary,
  kInfo,
  kStateSet
};
std::string_view to_string(Type type);  // "gauge"; "unknown"

struct Label {
  std::string name, value;
  bool operator==(const Label&) const = default;
};

struct Sample {
  std::string name;  // as it is written: of a counter with _total, of a histogram with _bucket, _sum, _count
  std::vector<Label> labels;
  double value = 0;
};

struct Family {
  std::string name;  // without _total
  Type type = Type::kUnknown;
  std::string unit;  // "bytes", "seconds"; empty: none. The name ends in it
  std::string help;
  std::vector<Sample> samples;
};

}  // namespace fathom::metrics
