#include "tracer/tracer_image.h"

extern "C" {
extern const std::byte fathom_tracer_image_start[];
extern const std::byte fathom_tracer_image_end[];
}

namespace fathom::tracer {

std::span<const std::byte> image() {
  return {fathom_tracer_image_start, fathom_tracer_image_end};
}

const tracer_image_header& image_header() {
  return *reinterpret_cast<const tracer_image_header*>(fathom_tracer_image_start);
}

}  // namespace fathom::tracer
