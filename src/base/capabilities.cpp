#include "base/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/files.h"

namespace fathom {
namespace {

// The words of the system call: the lower 32 capabilities, then the upper ones.
using Words = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

__user_cap_header_struct own_header() {
  return {_LINUX_CAPABILITY_VERSION_3, 0};
}

bool read_words(Words& words) {
  auto header = own_header();
  return ::syscall(SYS_capget, &header, words.data()) == 0;
}

}  // namespace

CapabilitySet own_capabilities() {
  Words words{};
  if (!read_words(words)) return 0;
  return words[0].effective | CapabilitySet{words[1].effective} << 32;
}

Result<> keep_capabilities(CapabilitySet kept) {
  Words words{};
  if (!read_words(words)) return system_error("capget", errno);
  // The bounding set first: cutting it is a capability itself. Without it, there is nothing to gain by a file
  // of root's unless root executes it.
  for (int number = 0; ::prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; ++number)
    if ((kept & capability(number)) == 0) (void)::prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto mask = static_cast<std::uint32_t>(kept >> (32 * i));
    words[i].permitted &= mask;
    words[i].effective &= mask;
    words[i].inheritable = 0;
  }
  auto header = own_header();
  if (::syscall(SYS_capset, &header, words.data()) != 0) return system_error("capset", errno);
  return {};
}

}  // namespace fathom
