#include "record/proc/kernel_stack.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files.h"

namespace fathom::sources {
namespace {

TEST(KernelStack, NamesAndOffsetsLeafFirst) {
  EXPECT_EQ(parse_kernel_stack("[<0>] futex_wait_queue+0x60/0x90\n"
                               "[<0>] nf_hook_slow+0x3d/0xf0 [nf_tables]\n"
                               "[<0>] 0xffffffffffffffff\n"
                               "[<0>] +0x1/0x2\n"
                               "[<0>] bad+0xzz/0x2\n"),
            (std::vector<KernelFrame>{{"futex_wait_queue", 0x60}, {"nf_hook_slow", 0x3d}}));
  EXPECT_TRUE(parse_kernel_stack("").empty());
}

class WithKallsyms {
 public:
  explicit WithKallsyms(std::string_view text) {
    char path[] = "/tmp/kallsyms-XXXXXX";
    const int fd = ::mkstemp(path);
    ::close(fd);
    path_ = path;
    EXPECT_TRUE(write_file(path_, text));
  }
  ~WithKallsyms() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(KernelStack, AddressesComeFromKallsyms) {
  const WithKallsyms file(
      "ffffffff81000000 T _text\n"
      "ffffffff81000100 t futex_wait_queue\n"
      "ffffffff81000900 t twice\n"
      "ffffffff81000a00 t twice\n"
      "ffffffffc0000000 t nf_hook_slow\t[nf_tables]\n");
  KernelStacks stacks(file.path());
  EXPECT_EQ(stacks.addresses({{"futex_wait_queue", 0x60}, {"unknown", 1}, {"nf_hook_slow", 2}}),
            (std::vector<std::uint64_t>{0xffffffff81000160, 0xffffffffc0000002}));
  EXPECT_EQ(stacks.addresses({{"twice", 4}}), std::vector<std::uint64_t>{0xffffffff81000904});
}

TEST(KernelStack, HiddenAddressesGiveNoStack) {
  const WithKallsyms file("0000000000000000 T _text\n0000000000000000 t futex_wait_queue\n");
  KernelStacks stacks(file.path());
  EXPECT_TRUE(stacks.addresses({{"futex_wait_queue", 0x60}}).empty());
  EXPECT_TRUE(KernelStacks("/nonexistent").addresses({{"futex_wait_queue", 0x60}}).empty());
}

}  // namespace
}  // namespace fathom::sources
