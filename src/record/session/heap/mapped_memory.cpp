#include "record/session/heap/mapped_memory.h"

#include <sys/syscall.h>

#include <algorithm>

#include "record/session/tracking/module_catalog.h"

namespace fathom::session {
namespace {

constexpr std::uint32_t kSummaryEvery = 10;  // slices
// As the slices of allocators: a slice of a second would be a line from its start to its end.
constexpr std::uint64_t kFirstSliceNs = 50'000'000;
// The number of allocators about which nothing else is known, and of all beyond the tables' limit.
constexpr std::uint32_t kOtherAllocator = TRACER_ALLOCATORS - 1;

bool is_inside(std::uint64_t address, std::span<const tracer_own_mapping> own) {
  return std::ranges::any_of(own, [&](const tracer_own_mapping& mapping) {
    return address >= mapping.address && address - mapping.address < mapping.bytes;
  });
}

}  // namespace

MappedMemory::MappedMemory(model::Profile& profile, model::Builder& builder, ProcessTable& processes,
                           std::int32_t pid, model::Heap heap)
    : profile_(profile),
      processes_(processes),
      pid_(pid),
      rows_(profile,
            [&] {
              heap.mode = model::HeapMode::kExact;
              heap.mean_bytes = 0;
              heap.each_block = false;  // mappings are split and joined: none of them has one life
              return heap;
            }()),
      collector_(heap.start_ns, kFirstSliceNs) {
  const model::HeapAllocatorId number{static_cast<std::uint32_t>(profile.heap.allocators.size())};
  profile.heap.allocators.push_back({builder.string(model::kMappedByProgram), {}});
  rows_.allocator(0, number);
}

void MappedMemory::know(const HeapTarget& target, std::span<const model::HeapAllocatorId> rows) {
  for (; known_ < std::min(target.allocators.size(), rows.size()); ++known_) {
    const auto& allocator = target.allocators[known_];
    const auto number = static_cast<std::uint32_t>(std::min<std::size_t>(known_ + 1, kOtherAllocator));
    if (number != kOtherAllocator) rows_.allocator(number, rows[known_]);
    allocator_code_[allocator.module].push_back({number, allocator.own_code});
    if (allocator.kind == allocators::Kind::kLibc) libc_.insert(allocator.module);
  }
  for (const auto& unseen : target.unseen) unseen_.insert(unseen.module);
}

std::optional<std::uint32_t> MappedMemory::allocator_of(model::StackId stack) const {
  for (; stack.value != 0; stack = profile_.stacks[stack.value].parent) {
    const model::Frame& frame = profile_.frames[profile_.stacks[stack.value].frame.value];
    // Below the tracer there are only allocators, also stripped ones of which no more is known.
    const model::Module& module = profile_.modules[frame.module.value];
    if (module.kind == model::ModuleKind::kNames && profile_.strings[module.name] == kTracerModule)
      return kOtherAllocator;
    const auto known = allocator_code_.find(frame.module);
    if (known == allocator_code_.end()) continue;
    for (const Code& code : known->second) {
      const bool inside = std::ranges::any_of(code.ranges, [&](const allocators::CodeRange& range) {
        return frame.address >= range.start && frame.address < range.end;
      });
      if (inside) return code.allocator;
    }
  }
  return std::nullopt;
}

bool MappedMemory::may_be_unseen(model::StackId stack) const {
  const model::StackId caller = caller_of(stack);
  if (unseen_.empty() || caller.value == 0) return false;
  return unseen_.contains(profile_.frames[profile_.stacks[caller.value].frame.value].module);
}

model::StackId MappedMemory::caller_of(model::StackId stack) const {
  if (stack.value == 0) return stack;
  const model::Stack& leaf = profile_.stacks[stack.value];
  const bool in_libc = libc_.contains(profile_.frames[leaf.frame.value].module);
  return in_libc && leaf.parent.value != 0 ? leaf.parent : stack;
}

void MappedMemory::take(const EventSink::MemoryCall& event, std::span<const tracer_own_mapping> own) {
  if (event.call.pid != pid_ || is_inside(event.call.result, own) || is_inside(event.call.address, own))
    return;
  sources::MemoryCall call = event.call;
  std::optional<std::uint32_t> allocator = allocator_of(event.stack.stack);
  if (!allocator && may_be_unseen(event.stack.stack)) allocator = kOtherAllocator;
  if (allocator) {
    // What it gives back may be the program's: it was taken then, and the book knows.
    call.anonymous = false;
    if (call.number == 12) return;  // brk belongs to one of the two as a whole
  }
  call.stack_id = 0;
  if (const model::StackId stack = caller_of(event.stack.stack); stack.value != 0) {
    const auto [known, is_new] =
        numbers_.try_emplace(stack.value, static_cast<std::uint32_t>(numbers_.size() + 1));
    if (is_new) rows_.stack(known->second, stack, event.stack.end);
    call.stack_id = known->second;
  }
  if (const auto slice = collector_.settled_slice(call.time_ns)) add(*slice);
  if (const auto slice = collector_.slice(call.time_ns)) add(*slice);
  const auto tid = static_cast<std::uint32_t>(call.tid);
  threads_[tid] = processes_.thread_row(pid_, call.tid);  // the number may have been another one's before
  collector_.take(call, allocator.value_or(0));
}

void MappedMemory::end_image(std::uint64_t now_ns) {
  const sources::heap::Sum dropped = collector_.live();
  sources::MemoryCall all;
  all.time_ns = now_ns;
  all.pid = all.tid = pid_;
  all.number = SYS_munmap;
  all.address = 0;
  all.length = std::uint64_t{1} << 63;
  collector_.take(all);
  rows_.end_image(dropped);
}

void MappedMemory::add(const sources::heap::Slice& slice) {
  rows_.add(slice, [this](std::uint32_t tid) {
    const auto known = threads_.find(tid);
    return known == threads_.end() ? model::kNoThread : known->second;
  });
}

void MappedMemory::write_slice(std::uint64_t now_ns, bool last) {
  if (const auto calls = collector_.settled_slice(now_ns)) add(*calls);
  const auto slice = collector_.slice(now_ns, last);
  if (!slice) return;
  add(*slice);
  if (last || slices_++ % kSummaryEvery == 0) rows_.finish(collector_.summary(), {});
}

}  // namespace fathom::session
