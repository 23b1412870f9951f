// Any bytes as metrics: limits hold, names are valid, and the result can be written and read again.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "linux/metrics/read_text.h"
#include "linux/metrics/scraper.h"
#include "linux/metrics/write_text.h"

namespace {

using namespace fathom::metrics;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ReadBounds bounds{.samples = 100, .families = 50, .labels = 4, .text_bytes = 64};
  const ReadMetrics read = read_text(text, bounds);
  std::size_t samples = 0;
  for (const Family& family : read.families) {
    require(!family.name.empty() && !family.samples.empty());
    for (const Sample& sample : family.samples) {
      ++samples;
      require(!sample.name.empty() && sample.name.size() <= 64 && sample.labels.size() <= 4);
      for (const char c : sample.name)
        require(std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':');
      for (const Label& label : sample.labels) require(label.value.size() <= 64 && !label.name.empty());
    }
  }
  require(samples <= 100 && read.families.size() <= 50);
  const auto values = values_of(read, 20);
  require(values.size() <= 20);
  for (const ScrapedValue& value : values) {
    require(std::isfinite(value.value));
    require(std::none_of(value.name.begin(), value.name.end(), [](char c) { return c == '\n'; }));
  }
  for (const Format format : {Format::kPrometheus, Format::kOpenMetrics}) {
    // Values that are not UTF-8 get longer.
    const ReadMetrics again = read_text(write_text(read.families, format));
    std::size_t count = 0;
    for (const Family& family : again.families) count += family.samples.size();
    require(count == samples);
  }
  return 0;
}
