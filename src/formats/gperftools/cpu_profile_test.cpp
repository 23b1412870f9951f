#include "formats/gperftools/cpu_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "formats/import/import_testing.h"

namespace fathom::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class Word>
std::string words(std::initializer_list<std::uint64_t> values) {
  std::string bytes;
  for (const std::uint64_t value : values) {
    const auto word = static_cast<Word>(value);
    bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return bytes;
}
constexpr std::string_view kMaps =
    "00400000-00402000 r-xp 00001000 08:01 12 /opt/kiln\n"
    "00700000-00701000 r-xp 00000000 08:01 13 /lib/libc.so.6\n";

template <class Word>
std::string kiln() {
  return words<Word>({0, 3, 0, 5000, 0, 7, 2, 0x400100, 0x400201, 2, 1, 0x700010, 0, 1, 0}) +
         std::string(kMaps);
}

template <class Word>
class GperftoolsCpu : public testing::Test {};
using Widths = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(GperftoolsCpu, Widths);

TYPED_TEST(GperftoolsCpu, CountsAndPlacesAreRead) {
  const std::string bytes = kiln<TypeParam>();
  ASSERT_TRUE(is_gperftools_cpu(bytes));
  const model::Profile profile = read_gperftools_cpu(bytes, "x").value();
  EXPECT_THAT(stacks_of(profile),
              ElementsAre("kiln;[kiln+0x1200];[kiln+0x1100] 7", "kiln;[libc.so.6+0x10] 2"));
  EXPECT_EQ(profile.meta.frequency_hz, 200u);
  EXPECT_EQ(profile.quality.samples, 9u);
}

TYPED_TEST(GperftoolsCpu, EveryPrefixIsReadOrRefusedInOneLine) {
  const std::string bytes = kiln<TypeParam>();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto read = read_gperftools_cpu(bytes.substr(0, size), "x");
    if (!read) {
      EXPECT_THAT(read.error().message, HasSubstr("x: a CPU profile of gperftools: "));
    }
  }
  const model::Profile cut = read_gperftools_cpu(bytes.substr(0, 9 * sizeof(TypeParam)), "x").value();
  EXPECT_TRUE(cut.quality.truncated);
  EXPECT_EQ(total_of(cut, model::Metric::kCpu), 7);
}

// The number of words is the file's claim, and the reader does not count up to it.
TEST(IsGperftoolsCpu, AHeaderOfAnotherSizeIsRefusedAtOnce) {
  const std::string bytes = words<std::uint64_t>({0, UINT64_MAX, 0, 5000, 0, 7, 1, 0x400100});
  EXPECT_FALSE(is_gperftools_cpu(bytes));
  EXPECT_THAT(read_gperftools_cpu(bytes, "x").error().message, HasSubstr("a header of another version"));
}

TEST(IsGperftoolsCpu, OtherFilesAreNot) {
  EXPECT_FALSE(is_gperftools_cpu(""));
  EXPECT_FALSE(is_gperftools_cpu("heap profile: 1: 2 [3: 4] @ heapprofile"));
  EXPECT_FALSE(is_gperftools_cpu(std::string(64, '\0')));
}

}  // namespace
}  // namespace fathom::formats
