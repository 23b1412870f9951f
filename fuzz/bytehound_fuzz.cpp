// Any bytes as a file of bytehound, and as the events of one: refused in one line, or made a sound heap of which trees can be
// built.
#include "any_profile.h"
#include "formats/bytehound/bytehound.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view bytes = fuzz::text_of(data, size);
  (void)formats::is_bytehound(bytes);
  fuzz::expect_sound(formats::read_bytehound(bytes, "fuzz"));
  return 0;
}
