// Any text as a file of heaptrack: refused in one line, or made a sound heap of which trees can be built.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/core/call_tree.h"
#include "formats/heaptrack/heaptrack.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!formats::is_heaptrack(text)) return 0;
  const Result<model::Profile> profile = formats::read_heaptrack(text, "fuzz");
  if (!profile) {
    if (profile.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (!model::check(*profile)) std::abort();
  for (const model::Metric metric : analysis::metrics_in(*profile))
    (void)analysis::build_call_tree(*profile, {.selection = {.metric = metric}});
  return 0;
}
