// The parts of the shared memory: arithmetic without a process.
#include "attach/inject/tracer/shared_layout.h"

#include <gtest/gtest.h>

namespace fathom::inject {
namespace {

TEST(SharedLayout, PartsDoNotOverlapAndRingsAreWhole) {
  Options options;
  options.ring_count = 3;
  options.ring_bytes = 8192;
  const auto head = lay_out(options);
  ASSERT_TRUE(head.has_value());
  EXPECT_GE(head->mappings_offset, sizeof(tracer_shared));
  EXPECT_GE(head->pages_offset, head->mappings_offset + options.mappings * sizeof(unwind_mapping));
  EXPECT_GE(head->rows_offset, head->pages_offset + options.pages * sizeof(unwind_page));
  EXPECT_GE(head->rules_offset, head->rows_offset + std::uint64_t{options.rows} * sizeof(unwind_row));
  EXPECT_GE(head->rings_offset, head->rules_offset + options.rules * sizeof(unwind_rule));
  EXPECT_EQ(head->bytes, head->rings_offset + 3 * (TRACER_RING_DATA + 8192));
}

TEST(SharedLayout, ImpossibleSizesAreRejected) {
  Options options;
  options.ring_bytes = 5000;
  EXPECT_EQ(lay_out(options).error().kind, ErrorKind::kUsage);
  EXPECT_FALSE(read_image_header({}).has_value());
  const std::vector<std::byte> zeros(65536);
  EXPECT_FALSE(read_image_header(zeros).has_value());
}

}  // namespace
}  // namespace fathom::inject
