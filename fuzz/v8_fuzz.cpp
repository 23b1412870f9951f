// Any text as a profile of V8, of CPU and of the heap: refused in one line, or made a sound profile of which trees can be built.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/core/call_tree.h"
#include "formats/v8/v8.h"

namespace {

void look(const fathom::Result<fathom::model::Profile>& profile) {
  using namespace fathom;
  if (!profile) {
    if (profile.error().message.find('\n') != std::string::npos) std::abort();
    return;
  }
  if (!model::check(*profile)) std::abort();
  for (const model::Metric metric : analysis::metrics_in(*profile))
    (void)analysis::build_call_tree(*profile, {.selection = {.metric = metric}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)formats::is_cpu_profile(text);
  (void)formats::is_heap_profile(text);
  look(formats::read_cpu_profile(text, "fuzz"));
  look(formats::read_heap_profile(text, "fuzz"));
  return 0;
}
