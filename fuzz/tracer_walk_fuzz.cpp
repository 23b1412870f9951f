// The tracer's walker on tables and a stack of any bytes, with some changes of the stack between walks: it
// must read nothing outside its stack, end within its limit, and give the same result as a walk without
// memory of earlier ones.
//
// The first bytes give the sizes of the parts; then come mappings, pages, rows, rules, stack and changes. The
// address sanitizer guards all memory outside the stack; the bounds given to the walker guard the stack
// itself.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

extern "C" {
#include "attach/tracer/walk.h"
}

namespace {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  template <class T>
  T take() {
    T value{};
    const std::size_t n = std::min(sizeof value, rest_.size());
    std::memcpy(&value, rest_.data(), n);
    rest_ = rest_.subspan(n);
    return value;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::span<const std::uint8_t> rest_;
};

void check(bool holds) {
  if (!holds) std::abort();
}

constexpr std::size_t kStackWords = 256;
constexpr u64 kCode = 0x400000;

struct Memory {
  tracer_shared shared;
  unwind_mapping mappings[4];
  unwind_page pages[4];
  unwind_row rows[16];
  unwind_rule rules[8];
};

struct Walked {
  std::vector<u64> frames;
  u64 hash = 0;
  u32 end = 0;
};

Walked walk(state& s, Memory& memory, slot& thread_slot, const position& at) {
  thread& t = *thread_of(&s, &thread_slot);
  walk_stack(&t, begin_walk(&s, &memory.shared, &thread_slot, &t, at.sp), at.pc, at.sp, at.fp);
  check(t.walked_count > 0 && t.walked_count <= TRACER_MAX_FRAMES && t.frame_count <= t.walked_count);
  Walked walked;
  for (u32 i = 0; i < t.walked_count; ++i) walked.frames.push_back(t.frames[i].pc);
  walked.hash = t.hashes[t.walked_count - 1];
  walked.end = t.end;
  return walked;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* const s = static_cast<state*>(std::calloc(1, offsetof(state, threads) + 2 * THREAD_BYTES));
  auto memory = std::make_unique<Memory>();
  // One extra word, because the return address for the leaf's callee is below the leaf's part of the stack.
  auto stack_memory = std::make_unique<u64[]>(1 + kStackWords);
  u64* const stack = stack_memory.get() + 1;
  const u64 stack_start = reinterpret_cast<u64>(stack);
  Input input(data, size);

  // Addresses in the input are small numbers: they become places in code, on the stack or elsewhere, or stay
  // unchanged.
  const auto address = [&] {
    const auto value = input.take<std::uint16_t>();
    switch (value >> 14) {
      case 0:
        return stack_start + (value & 0x7ff);
      case 1:
      case 2:
        return kCode + (value & 0x3ff);
      default:  // or not an address, with the low bits of code
        return value & 0x2000 ? kCode + (value & 0x3ff) + (u64{1} << 52) : u64{value} - 0xc000;
    }
  };

  tracer_shared& shared = memory->shared;
  const auto offset = [&](const void* part) {
    return static_cast<u64>(static_cast<const char*>(part) - reinterpret_cast<const char*>(&shared));
  };
  shared.mappings_offset = offset(memory->mappings);
  shared.pages_offset = offset(memory->pages);
  shared.rows_offset = offset(memory->rows);
  shared.rules_offset = offset(memory->rules);
  shared.mappings_count = 4;
  shared.pages_count = 4;
  shared.rows_count = 16;
  shared.rules_count = 8;
  shared.table_epoch = 1;
  s->rules_epoch = 0;  // the tables differ from those of the previous input
  shared.mapping_run = u64{input.take<std::uint8_t>()} | u64{input.take<std::uint8_t>()} << 32;
  for (unwind_mapping& each : memory->mappings) {
    each.start = kCode + input.take<std::uint8_t>() * 4u;
    each.end = each.start + input.take<std::uint8_t>() * 8u;
    each.bias = input.take<std::uint8_t>() % 4 * 0x1000u;
    each.first_page = input.take<std::uint8_t>();
    each.page_count = input.take<std::uint8_t>();
    each.page_base = input.take<std::uint8_t>();
  }
  for (unwind_page& each : memory->pages)
    each = u64{input.take<std::uint8_t>()} | u64{input.take<std::uint8_t>()} << 32;
  for (unwind_row& each : memory->rows) each = input.take<std::uint32_t>() & 0x000f03ff;
  for (unwind_rule& each : memory->rules) {
    each.cfa = input.take<std::uint8_t>() % 11;
    each.fp = input.take<std::uint8_t>() % 5;
    each.reg = input.take<std::uint8_t>();
    each.add = input.take<std::int8_t>();
    each.cfa_offset = input.take<std::int16_t>();
    each.fp_offset = input.take<std::int16_t>();
  }
  for (std::size_t i = 0; i < kStackWords; ++i) stack[i] = address();

  // Two threads on the same stack: one remembers earlier walks, the other never does.
  slot* slots[2] = {&s->slots[0], &s->slots[1]};
  for (slot* each : slots) {
    thread& t = *thread_of(s, each);
    std::memset(&t, 0, sizeof t);
    each->key = 1;  // no control block: the stack is already known
    t.stack_low = stack_start;
    t.stack_high = stack_start + kStackWords * 8;
    forget_rules(s, &shared, &t, shared.table_epoch);
  }
  static auto* const nothing_known = new u64[1 << RULES_LOG2];
  thread_of(s, slots[1])->rules = nothing_known;
  for (int round = 0; round < 8; ++round) {
    const std::uint8_t leaf = input.take<std::uint8_t>();
    position at{};
    at.pc = address() & (PC_END - 1);  // right after a call pushed it
    at.sp = stack_start + leaf * 8u;
    at.fp = address();
    stack[leaf - 1] = at.pc;
    const Walked incremental = walk(*s, *memory, *slots[0], at);
    thread& forgetful = *thread_of(s, slots[1]);
    forgetful.frame_count = 0;
    std::fill_n(nothing_known, 1 << RULES_LOG2, 0);
    const Walked full = walk(*s, *memory, *slots[1], at);
    check(incremental.frames == full.frames && incremental.end == full.end && incremental.hash == full.hash);
    for (int change = 0; change < 3; ++change) stack[input.take<std::uint8_t>() % kStackWords] = address();
    if (input.empty()) break;
  }
  return 0;
}
