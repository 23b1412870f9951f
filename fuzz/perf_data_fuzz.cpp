// Any bytes as a file of perf: refused in one line, or made a sound profile of which trees can be built.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/core/call_tree.h"
#include "formats/perf_data/perf_data.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)formats::is_perf_data(bytes);
  const Result<model::Profile> profile = formats::read_perf_data(bytes, "fuzz");
  if (!profile) {
    if (profile.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (!model::check(*profile)) std::abort();
  for (const model::Metric metric : analysis::metrics_in(*profile))
    (void)analysis::build_call_tree(*profile, {.selection = {.metric = metric}});
  return 0;
}
