#include "attach/tracer/tracer_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace fathom::tracer {
namespace {

TEST(Image, HeaderIsThatOfThisVersion) {
  EXPECT_EQ(image_header().magic, TRACER_MAGIC);
  EXPECT_EQ(image_header().version, std::uint32_t{TRACER_VERSION});
  EXPECT_EQ(image_header().text_bytes, image().size());
  EXPECT_EQ(image().size() % 4096, 0u);
  EXPECT_LT(image().size(), 128u << 10);
  EXPECT_LT(image_header().state_bytes, 256u << 20);
}

TEST(Image, ConfigurationIsEmptyAndOnPagesOfItsOwn) {
  const std::size_t offset = image_header().config_offset;
  EXPECT_EQ(offset % 4096, 0u);
  ASSERT_LE(offset + sizeof(tracer_config), image().size());
  for (const std::byte each : image().subspan(offset)) ASSERT_EQ(each, std::byte{0});
}

TEST(Image, EveryHookHasAnEntryOfItsOwnThatStartsWithEndbr64) {
  constexpr unsigned char kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  std::set<std::uint32_t> entries;
  for (const auto& shape : image_header().hook_offset)
    for (const std::uint32_t offset : shape) {
      entries.insert(offset);
      ASSERT_GT(offset, sizeof(tracer_image_header) - 1);
      ASSERT_LT(offset + 16, image_header().config_offset);
      EXPECT_EQ(std::memcmp(image().data() + offset, kEndbr64, sizeof kEndbr64), 0);
    }
  EXPECT_EQ(entries.size(), std::size_t{TRACER_SHAPES} * TRACER_HOOKS);
}

TEST(Image, StartsOnAPageSoThatItsHeaderCanBeRead) {
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(image().data()) % 4096, 0u);
}

}  // namespace
}  // namespace fathom::tracer
