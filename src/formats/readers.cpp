#include "formats/readers.h"

#include <algorithm>

#include "formats/folded/folded.h"
#include "formats/perf_script/perf_script.h"

namespace fathom::formats {
namespace {

// Lines that end in a number are all that folded stacks are known by, so whatever text is left is taken for them, and
// their reader says what is wrong with it.
bool any_text(std::string_view) {
  return true;
}

constexpr Reader kReaders[] = {
    {"perf script", is_perf_script, read_perf_script},
    {"folded", any_text, read_folded},
};

}  // namespace

std::span<const Reader> readers() {
  return kReaders;
}

const Reader& reader_of(std::string_view content) {
  return *std::find_if(std::begin(kReaders), std::end(kReaders),
                       [&](const Reader& reader) { return reader.recognises(content); });
}

}  // namespace fathom::formats
