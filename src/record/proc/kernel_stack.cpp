#include "record/proc/kernel_stack.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/parse.h"
#include "linux/process/fields.h"

namespace fathom::sources {

std::vector<KernelFrame> parse_kernel_stack(std::string_view text) {
  std::vector<KernelFrame> frames;
  std::string_view line;
  while (process::next_line(text, line)) {
    // [<0>] futex_wait_queue+0x60/0x90 [module]
    process::next_field(line);
    const std::string_view symbol = process::next_field(line);
    const std::size_t plus = symbol.rfind("+0x");
    if (plus == std::string_view::npos || plus == 0) continue;
    const std::string_view numbers = symbol.substr(plus + 3);
    const auto offset = parse_number(numbers.substr(0, numbers.find('/')), 16);
    if (offset) frames.push_back({std::string(symbol.substr(0, plus)), *offset});
  }
  return frames;
}

void KernelStacks::look_up(const std::vector<KernelFrame>& frames) {
  std::size_t wanted = 0;
  for (const KernelFrame& frame : frames) wanted += starts_.try_emplace(frame.name, 0).second;
  if (wanted == 0) return;
  const auto text = read_file(path_);
  if (!text) {
    hidden_ = true;
    return;
  }
  std::string_view rest = *text, line;
  std::string name;
  while (process::next_line(rest, line)) {
    const auto address = parse_number(process::next_field(line), 16);
    process::next_field(line);
    name = process::next_field(line);
    const auto found = starts_.find(name);
    if (found != starts_.end() && address && found->second == 0) found->second = *address;
  }
  hidden_ = std::all_of(frames.begin(), frames.end(), [this](const auto& f) { return starts_[f.name] == 0; });
}

std::vector<std::uint64_t> KernelStacks::addresses(const std::vector<KernelFrame>& frames) {
  std::vector<std::uint64_t> found;
  if (hidden_ || frames.empty()) return found;
  look_up(frames);
  for (const KernelFrame& frame : frames) {
    if (const std::uint64_t start = starts_[frame.name]; start != 0) found.push_back(start + frame.offset);
  }
  return found;
}

std::vector<std::uint64_t> KernelStacks::read(int pid, int tid) {
  if (hidden_) return {};
  const auto text = read_file(fmt::format("/proc/{}/task/{}/stack", pid, tid));
  if (!text) {
    if (text.error().kind == ErrorKind::kPermission) hidden_ = true;
    return {};
  }
  return addresses(parse_kernel_stack(*text));
}

}  // namespace fathom::sources
