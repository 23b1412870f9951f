// Any bytes as a bytehound file, and as its events: rejected in one line, or read as a valid heap from which
// trees can be built.
#include "any_profile.h"
#include "formats/bytehound/bytehound.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view bytes = fuzz::text_of(data, size);
  (void)formats::is_bytehound(bytes);
  fuzz::expect_sound(formats::read_bytehound(bytes, "fuzz"));
  return 0;
}
