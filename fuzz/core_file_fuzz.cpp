// Any bytes as a core file: its threads, files and memory must be answered or rejected.
#include <cstdint>
#include <span>

#include "tools/stacks/core/core_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using fathom::stacks::CoreFile;
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)CoreFile::recognize(bytes);
  const auto core = CoreFile::parse(bytes, "fuzz");
  if (!core) return 0;
  std::uint64_t sum = core->program().size() + static_cast<std::uint64_t>(core->pid() + core->signal());
  const auto ask = [&](std::uint64_t address) {
    for (const std::byte byte : core->memory(address)) sum += static_cast<std::uint64_t>(byte);
    sum += core->is_executable(address) + core->lists(address) + core->build_id(address).size();
  };
  for (const auto& thread : core->threads()) sum += static_cast<std::uint64_t>(thread.tid + thread.signal);
  for (const auto& mapping : core->mappings()) {
    const std::uint64_t start = mapping.start.value, end = mapping.end.value;
    ask(start);
    ask(end - 1);
    ask(start / 2 + end / 2);
  }
  ask(core->vdso());
  ask(UINT64_MAX);
  return sum == UINT64_MAX ? 1 : 0;
}
