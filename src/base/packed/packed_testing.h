// What CMakeLists.txt packs for the test.
#pragma once

#include "base/packed/packed.h"

namespace fathom::packed {

extern const File kExample, kEmptyExample;

}  // namespace fathom::packed
