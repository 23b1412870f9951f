// The log of the running kernel. Sources: the kernel's ABI/testing/dev-kmsg, syslog(2).
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::oom {

// All that the kernel still keeps of it. kPermission: this user may not read it (kernel.dmesg_restrict).
Result<std::string> read_kernel_log();

// Lines written to it from now on.
class KernelLogTail {
 public:
  static Result<KernelLogTail> open();
  // What has come in since the last call; does not wait. Lines as read_records() takes them.
  std::string take();
  int fd() const { return fd_.get(); }  // readable when there is something to take
  // The kernel has overwritten records before they were taken.
  bool has_gap() const { return has_gap_; }

 private:
  explicit KernelLogTail(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
  bool has_gap_ = false;
};

// One record of /dev/kmsg, "\x0a" turned back into what it stands for.
std::string unescape_kmsg(std::string_view record);

}  // namespace fathom::oom
