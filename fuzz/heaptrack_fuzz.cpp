// Any text as a heaptrack file: rejected in one line, or read as a valid heap from which trees can be built.
#include "any_profile.h"
#include "formats/heaptrack/heaptrack.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view bytes = fuzz::text_of(data, size);
  if (!formats::is_heaptrack(bytes)) return 0;
  fuzz::expect_sound(formats::read_heaptrack(bytes, "fuzz"));
  return 0;
}
