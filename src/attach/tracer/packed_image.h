// image.bin, put into the program by CMakeLists.txt.
#pragma once

#include "base/packed/packed.h"

namespace fathom::tracer {

extern const packed::File kPackedImage;

}  // namespace fathom::tracer
