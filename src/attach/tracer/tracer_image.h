// The tracer's image, as it is placed in a target. See base/abi/heap_tracer.h.
#pragma once

#include <cstddef>
#include <span>

#include "base/abi/heap_tracer.h"

namespace fathom::tracer {

// All of it: header, code, and struct tracer_config on pages of its own, all zeros. A multiple of the page
// size, and starts on a page. Unpacked at the first call.
std::span<const std::byte> image();

// At the start of the image. Magic, version and offsets are those of this build.
const tracer_image_header& image_header();

}  // namespace fathom::tracer
