#include "attach/tracer/tracer_image.h"

#include <memory>
#include <new>

#include "attach/tracer/packed_image.h"

namespace fathom::tracer {
namespace {

constexpr std::align_val_t kPage{4096};

struct Release {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, kPage); }
};

std::unique_ptr<std::byte[], Release> unpacked() {
  std::unique_ptr<std::byte[], Release> bytes(
      static_cast<std::byte*>(::operator new[](kPackedImage.size, kPage)));
  packed::unpack(kPackedImage, {bytes.get(), kPackedImage.size});
  return bytes;
}

}  // namespace

std::span<const std::byte> image() {
  static const std::unique_ptr<std::byte[], Release> bytes = unpacked();
  return {bytes.get(), kPackedImage.size};
}

const tracer_image_header& image_header() {
  return *reinterpret_cast<const tracer_image_header*>(image().data());
}

}  // namespace fathom::tracer
