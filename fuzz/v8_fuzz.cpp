// Any text as a V8 profile, of CPU and of the heap: rejected in one line, or read as a valid profile from
// which trees can be built.
#include "any_profile.h"
#include "formats/v8/v8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view bytes = fuzz::text_of(data, size);
  (void)formats::is_cpu_profile(bytes);
  (void)formats::is_heap_profile(bytes);
  fuzz::expect_sound(formats::read_cpu_profile(bytes, "fuzz"));
  fuzz::expect_sound(formats::read_heap_profile(bytes, "fuzz"));
  return 0;
}
