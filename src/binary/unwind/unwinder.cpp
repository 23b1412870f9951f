#include "binary/unwind/unwinder.h"

#include <cstring>
#include <utility>

#include "base/abi/unwind_table.h"
#include "binary/unwind/memory_walk.h"

struct step_walk;
namespace {

// What the accessors below see of the walk in progress; step_walk.env points to it.
struct WalkView {
  const fathom::unwind::AddressSpace& space;
  const fathom::unwind::UnwindInput& input;
  const fathom::unwind::CodeReader& read_code;
  bool reads_all;  // read_code reads all memory, also that of stacks
};

int step_read_u64(step_walk* w, u64 address, u64* value);
int step_read_code(step_walk* w, u64 address, u64* value);
int step_read_register(step_walk* w, u32 number, u64* value);
const unwind_mapping* step_mapping(step_walk* w, u32 index);
unwind_page step_page(step_walk* w, u32 page);
const unwind_row* step_row(step_walk* w, u32 row);
const unwind_rule* step_rule(step_walk* w, u32 rule);

}  // namespace

#define STEP_FN static inline
#include "base/arch/step.h"

namespace {

const WalkView& view(const step_walk* w) {
  return *reinterpret_cast<const WalkView*>(w->env);
}

// The table of the mapping that the walk is in. Never null while stepping: without a table there is no page
// to ask for.
const fathom::unwind::Table* table(const step_walk* w) {
  const auto& space = view(w).space;
  return w->mapping_index < space.mappings().size() ? space.table(w->mapping_index) : nullptr;
}

int step_read_u64(step_walk* w, u64 address, u64* value) {
  const auto& input = view(w).input;
  const bool is_below = address < input.stack_start.value;
  const u64 offset = address - input.stack_start.value;
  if (is_below || input.stack.size() < sizeof *value || offset > input.stack.size() - sizeof *value) {
    if (view(w).reads_all && step_read_code(w, address, value) == 0) return 0;
    return is_below ? WALK_READ_FAULT : WALK_STACK_CUT;
  }
  std::memcpy(value, input.stack.data() + offset, sizeof *value);
  return 0;
}

int step_read_code(step_walk* w, u64 address, u64* value) {
  const auto& read_code = view(w).read_code;
  if (!read_code) return -1;
  const auto code = read_code(fathom::ProcessAddress{address});
  if (!code) return -1;
  *value = *code;
  return 0;
}

int step_read_register(step_walk* w, u32 number, u64* value) {
  const auto* registers = view(w).input.registers;
  if (registers == nullptr || number >= registers->values.size() || (registers->known >> number & 1) == 0)
    return -1;
  *value = registers->values[number];
  return 0;
}

const unwind_mapping* step_mapping(step_walk* w, u32 index) {
  const auto mappings = view(w).space.mappings();
  return index < mappings.size() ? &mappings[index] : nullptr;
}

unwind_page step_page(step_walk* w, u32 page) {
  const auto* t = table(w);
  return t != nullptr && page < t->pages.size() ? t->pages[page] : 0;
}

const unwind_row* step_row(step_walk* w, u32 row) {
  const auto* t = table(w);
  return t != nullptr && row < t->rows.size() ? &t->rows[row] : nullptr;
}

const unwind_rule* step_rule(step_walk* w, u32 rule) {
  const auto* t = table(w);
  return t != nullptr && rule < t->rules.size() ? &t->rules[rule] : nullptr;
}

}  // namespace

namespace fathom::unwind {
namespace {

walk_end walk_frames(const WalkView& view, std::vector<FrameAddress>& out) {
  step_walk walk{};
  walk.pc = view.input.pc;
  walk.sp = view.input.sp;
  walk.fp = view.input.fp;
  walk.env = reinterpret_cast<u64>(&view);
  walk.mapping_count = static_cast<u32>(view.space.mappings().size());
  walk.exact = 1;
  walk.first = 1;
  const std::size_t first = out.size();
  int end = 0;
  for (int frame = 0; frame < WALK_MOST_STEPS && end == 0; ++frame) {
    const auto kind =
        walk.exact != 0 ? FrameAddress::Kind::kInstructionPointer : FrameAddress::Kind::kReturnAddress;
    out.push_back({{walk.pc}, kind});
    end = step_once(&walk);
  }
  if (end == 0) end = WALK_DEPTH_LIMIT;
  if (out.size() - first <= WALK_MAX_FRAMES) return static_cast<walk_end>(end);
  const auto middle = out.begin() + static_cast<std::ptrdiff_t>(first) + WALK_LEAF_FRAMES;
  out.erase(middle, out.end() - (WALK_ROOT_FRAMES - 1));
  out.insert(out.end() - (WALK_ROOT_FRAMES - 1), {{WALK_LEFT_OUT}, FrameAddress::Kind::kInstructionPointer});
  return end == WALK_ROOT ? WALK_MIDDLE_CUT : static_cast<walk_end>(end);
}

}  // namespace

Unwinder::Unwinder(const AddressSpace& space, CodeReader read_code)
    : space_(space), read_code_(std::move(read_code)) {}

walk_end Unwinder::unwind(const UnwindInput& input, std::vector<FrameAddress>& out) const {
  return walk_frames({space_, input, read_code_, false}, out);
}

walk_end walk_memory(const AddressSpace& space, const UnwindInput& input, const CodeReader& memory,
                     std::vector<FrameAddress>& out) {
  return walk_frames({space, input, memory, true}, out);
}

}  // namespace fathom::unwind
