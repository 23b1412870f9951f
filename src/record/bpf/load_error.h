// Why the kernel did not take the event programs, in a sentence and with a remedy. Pure, but for look_at_kernel().
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::sources {

// What decides between the causes that one error number has.
struct KernelFacts {
  bool short_of_locked_memory =
      false;            // maps count as locked memory (before Linux 5.11), and this user may lock little
  bool has_btf = true;  // /sys/kernel/btf/vmlinux
  bool hides_memory = false;  // lockdown=confidentiality: no program reads the kernel's memory
  std::string remedy_for_rights;
};
KernelFacts look_at_kernel();

// `text`: what libbpf said, the verifier's log in it. EACCES is also what the verifier answers when it refuses a program,
// and then no capability would help.
Error explain_load_error(int error_number, std::string_view text, const KernelFacts& facts);

bool kernel_is_at_least(int major, int minor);

}  // namespace fathom::sources
