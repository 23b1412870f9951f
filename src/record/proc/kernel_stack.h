// The kernel's part of a blocked thread's stack. Source: proc(5), /proc/PID/task/TID/stack, which only root
// may read. The kernel prints names and keeps the addresses to itself; they are found again in
// /proc/kallsyms. Where a name is there several times, any of them serves: the address will be turned into
// that name again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace fathom::sources {

struct KernelFrame {
  std::string name;
  std::uint64_t offset = 0;  // of the return address, from the start of the function
  bool operator==(const KernelFrame&) const = default;
};

// Leaf first. Lines of another form are left out.
std::vector<KernelFrame> parse_kernel_stack(std::string_view text);

class KernelStacks {
 public:
  explicit KernelStacks(std::string kallsyms_path = "/proc/kallsyms") : path_(std::move(kallsyms_path)) {}

  // Addresses, leaf first; empty where the stack or the addresses are hidden from us. The first call with a
  // new name reads kallsyms, 10 to 50 ms; names are kept.
  std::vector<std::uint64_t> read(int pid, int tid);
  std::vector<std::uint64_t> addresses(const std::vector<KernelFrame>& frames);

 private:
  void look_up(const std::vector<KernelFrame>& frames);
  std::string path_;
  std::unordered_map<std::string, std::uint64_t> starts_;  // 0: not to be found
  bool hidden_ = false;
};

}  // namespace fathom::sources
