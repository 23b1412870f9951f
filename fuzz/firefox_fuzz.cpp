// Any bytes as a processed profile of the Firefox Profiler: rejected in one line, or read as a valid profile
// from which trees can be built.
#include "any_profile.h"
#include "formats/firefox/firefox.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view bytes = fuzz::text_of(data, size);
  (void)formats::is_firefox(bytes);
  fuzz::expect_sound(formats::read_firefox(bytes, "fuzz"));
  return 0;
}
