// The layout of the shared memory. Pure.
#pragma once

#include "attach/inject/tracer/tracer.h"
#include "base/abi/heap_tracer.h"
#include "base/result.h"

namespace fathom::inject {

// The head with offsets, sizes and counts; everything else is zero. kUsage if the options contradict each
// other.
Result<tracer_shared> lay_out(const Options& options);

// The image's header, checked against the image's size.
Result<tracer_image_header> read_image_header(std::span<const std::byte> image);

}  // namespace fathom::inject
