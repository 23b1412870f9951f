// Any bytes as a profile of pprof: refused in one line, or made a sound profile of which trees can be built.
#include "any_profile.h"
#include "formats/pprof/pprof.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view bytes = fuzz::text_of(data, size);
  (void)formats::is_pprof(bytes);
  fuzz::expect_sound(formats::read_pprof(bytes, "fuzz"));
  return 0;
}
