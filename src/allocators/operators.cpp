#include "allocators/operators.h"

#include <algorithm>
#include <cstring>

namespace fathom::allocators {

// A direct call or jump to one of them, and nothing thread-local: an operator with a fast path of its own
// looks into a thread's cache (an fs prefix), and calls malloc at most when that failed.
bool ends_in(const elf::ElfFile& file, const NamedFunction& function,
             const std::vector<Function>& functions) {
  const auto code = file.bytes_at(function.address, function.size);
  if (!code) return false;
  constexpr std::byte kThreadLocal{0x64}, kCall{0xe8}, kJump{0xe9};
  bool calls = false;
  for (std::size_t i = 0; i < code->size(); ++i) {
    if ((*code)[i] == kThreadLocal) return false;
    if (((*code)[i] != kCall && (*code)[i] != kJump) || code->size() - i < 5) continue;
    std::int32_t distance = 0;
    std::memcpy(&distance, code->data() + i + 1, sizeof distance);
    const ElfAddress target{function.address.value + i + 5 +
                            static_cast<std::uint64_t>(std::int64_t{distance})};
    calls = calls || std::any_of(functions.begin(), functions.end(),
                                 [&](const Function& each) { return each.address == target; });
  }
  return calls;
}

}  // namespace fathom::allocators
