// Any bytes as a CPU profile of gperftools: rejected in one line, or read as a valid profile from which trees
// can be built.
#include "any_profile.h"
#include "formats/gperftools/cpu_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view bytes = fuzz::text_of(data, size);
  (void)formats::is_gperftools_cpu(bytes);
  fuzz::expect_sound(formats::read_gperftools_cpu(bytes, "fuzz"));
  return 0;
}
