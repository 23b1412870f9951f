// Any bytes as a module with an allocator, alone and as its own twin: results lie in the code, in order, and
// every hook point is requested.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "attach/allocators/hook_points.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void look_into(const fathom::elf::ElfFile& file, const fathom::elf::ElfFile* twin) {
  using namespace fathom::allocators;
  for (const Allocator& allocator : find(file, twin).allocators) {
    check(!allocator.functions.empty());
    for (std::size_t i = 0; i < allocator.functions.size(); ++i) {
      const Function& each = allocator.functions[i];
      check(i == 0 || allocator.functions[i - 1].address < each.address);
      check(!file.bytes_from(each.address).empty());
      check(each.partner.has_value() == (tracer_throws(each.shape) != 0));
      const auto code = code_of(file, each);
      check(code.empty() || code.size() >= each.size);
    }
    for (std::size_t i = 1; i < allocator.own_code.size(); ++i)
      check(allocator.own_code[i - 1].end < allocator.own_code[i].start);
    const auto points = hook_points_of(file, allocator);
    check(points.size() == allocator.functions.size());
    for (const HookPoints& each : points)
      for (std::size_t i = 1; i < each.slots.size(); ++i) check(each.slots[i - 1] < each.slots[i]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = fathom::elf::ElfFile::parse(std::as_bytes(std::span(data, size)), "fuzz");
  if (!file) return 0;
  look_into(*file, nullptr);
  look_into(*file, &*file);
  return 0;
}
