#include "attach/inject/tracer/shared_layout.h"

#include <cstring>

#include "attach/inject/plan/placement.h"
#include "base/cursor.h"

namespace fathom::inject {

Result<tracer_shared> lay_out(const Options& options) {
  const bool power_of_two = (options.ring_bytes & (options.ring_bytes - 1)) == 0;
  if (options.ring_count == 0 || options.ring_bytes < kPage || !power_of_two)
    return fail(ErrorKind::kUsage, "heap rings: their size must be a power of two of at least 4096 bytes");
  if (options.rules > UNWIND_MAX_RULES)
    return fail(ErrorKind::kUsage, "heap tracer: more unwind rules than a row can name");

  tracer_shared head{};
  head.magic = TRACER_MAGIC;
  head.version = TRACER_VERSION;
  head.header_bytes = sizeof(tracer_shared);
  head.mode = TRACER_OFF;
  head.mean = options.mean;
  head.heartbeat_limit = options.heartbeat_limit_ticks;
  head.wait_limit = options.wait_limit_ticks;
  head.sleep_ticks = options.sleep_ticks;
  head.clock = options.clock;
  head.mappings_count = options.mappings;
  head.pages_count = options.pages;
  head.rows_count = options.rows;
  head.rules_count = options.rules;
  head.ring_count = options.ring_count;
  head.ring_bytes = options.ring_bytes;
  head.ring_stride = static_cast<u32>(round_up(std::uint64_t{TRACER_RING_DATA} + options.ring_bytes));

  std::uint64_t end = round_up(sizeof(tracer_shared));
  const auto take = [&](std::uint64_t bytes) { return std::exchange(end, round_up(end + bytes)); };
  head.mappings_offset = take(std::uint64_t{options.mappings} * sizeof(unwind_mapping));
  head.pages_offset = take(std::uint64_t{options.pages} * sizeof(unwind_page));
  head.rows_offset = take(std::uint64_t{options.rows} * sizeof(unwind_row));
  head.rules_offset = take(std::uint64_t{options.rules} * sizeof(unwind_rule));
  head.rings_offset = take(std::uint64_t{options.ring_count} * head.ring_stride);
  head.bytes = end;
  return head;
}

Result<tracer_image_header> read_image_header(std::span<const std::byte> image) {
  tracer_image_header header{};
  const auto refuse = [](std::string_view what) {
    return fail(ErrorKind::kMalformed, "heap tracer: " + std::string(what));
  };
  if (image.size() < sizeof(header)) return refuse("there is no image");
  std::memcpy(&header, image.data(), sizeof(header));
  if (header.magic != TRACER_MAGIC || header.version != TRACER_VERSION)
    return refuse("the image is of another version");
  const auto fits = [&](std::uint64_t offset, std::uint64_t bytes) {
    return offset <= header.text_bytes && bytes <= header.text_bytes - offset;
  };
  if (header.text_bytes % kPage != 0 || image.size() > header.text_bytes || header.state_bytes == 0 ||
      !fits(header.config_offset, sizeof(tracer_config)))
    return refuse("the image's header contradicts itself");
  for (const auto& offsets : header.hook_offset)
    for (const u32 offset : offsets)
      if (!fits(offset, 1)) return refuse("a hook lies outside of the image");
  return header;
}

}  // namespace fathom::inject
