#include "record/bpf/kernel_tracepoints.h"

#include <gtest/gtest.h>
#include <linux/btf.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/files.h"

namespace fathom::sources {
namespace {

// A file of types with these strings and no type.
class Types {
 public:
  explicit Types(const std::string& strings, std::uint32_t claimed_more = 0) {
    btf_header header{};
    header.magic = BTF_MAGIC;
    header.hdr_len = sizeof(header);
    header.str_len = static_cast<std::uint32_t>(strings.size()) + claimed_more;
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
    EXPECT_TRUE(write_file(path_, bytes + strings));
  }
  ~Types() { std::filesystem::remove(path_); }
  bool has(std::string_view name) const { return has_tracepoint(path_, name); }

 private:
  std::string path_ = testing::TempDir() + "/kernel_types_" + std::to_string(::getpid());
};

std::string name_at(std::size_t place, std::string_view name) {
  std::string strings(place, 'x');
  strings.push_back('\0');
  strings.append("btf_trace_").append(name).push_back('\0');
  return strings;
}

TEST(KernelTracepoints, ANameIsFoundWhereverPiecesOfTheFileMeet) {
  constexpr std::size_t kPiece = 256 << 10;
  for (const std::size_t pieces : {1u, 2u, 3u}) {
    for (std::size_t around = 0; around < 40; ++around) {
      const Types types(name_at(pieces * kPiece - around, "sched_exit_tp"));
      EXPECT_TRUE(types.has("sched_exit_tp")) << pieces << " - " << around;
      EXPECT_FALSE(types.has("sched_exit_t")) << "a part of a name is another name";
      EXPECT_FALSE(types.has("ched_exit_tp"));
    }
  }
}

TEST(KernelTracepoints, AFileThatIsCutOrOfAnotherKindHasNone) {
  EXPECT_FALSE(Types(name_at(10, "a").substr(0, 20)).has("a"));
  EXPECT_FALSE(Types("", 0).has("a"));
  EXPECT_FALSE(Types(std::string(300 << 10, 'x'), 1 << 20).has("a"));
  EXPECT_FALSE(has_tracepoint("/", "a"));
  EXPECT_FALSE(has_tracepoint("/etc/passwd", "a"));
  EXPECT_FALSE(has_tracepoint("/nowhere", "a"));
}

TEST(KernelTracepoints, ThisKernelHasTheOldestAndNoInventedOnes) {
  if (!std::ifstream("/sys/kernel/btf/vmlinux")) GTEST_SKIP() << "the kernel does not publish its types";
  EXPECT_TRUE(kernel_has_tracepoint("sched_switch"));
  EXPECT_FALSE(kernel_has_tracepoint("sched_never_heard_of"));
}

}  // namespace
}  // namespace fathom::sources
