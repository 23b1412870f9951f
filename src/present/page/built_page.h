// web/dist, put into the program by CMakeLists.txt.
#pragma once

#include "base/packed/packed.h"

namespace fathom::page {

extern const packed::File kPackedScript, kPackedStyle;

}  // namespace fathom::page
