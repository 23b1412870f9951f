// Any text as a speedscope file: rejected in one line, or read as a valid profile from which trees can be
// built.
#include "any_profile.h"
#include "formats/speedscope/speedscope.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view bytes = fuzz::text_of(data, size);
  (void)formats::is_speedscope(bytes);
  fuzz::expect_sound(formats::read_speedscope(bytes, "fuzz"));
  return 0;
}
