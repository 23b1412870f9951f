#include "attach/inject/plan/hook_planner.h"

#include <fmt/format.h>

#include <algorithm>

namespace fathom::inject {
namespace {

constexpr std::uint64_t kEntryRoom = arch::kTrampolineRoom + arch::kStubRoom;

auto refuse(std::string why) {
  return fail(ErrorKind::kUnsupported, std::move(why));
}

}  // namespace

void HookPlanner::plan(std::vector<PlannedHook>& hooks) {
  for (const auto& planned : hooks)
    if (planned.hook.slots.empty()) ++entries_in_[planned.hook.module_start];
  for (auto& planned : hooks) {
    if (auto done = plan_one(planned); !done) {
      planned.kind = TRACER_HOOK_NONE;
      planned.text = fmt::format("{}: not hooked: {}", planned.hook.name, done.error().message);
    }
  }
}

Result<> HookPlanner::plan_one(PlannedHook& planned) {
  const Hook& hook = planned.hook;
  const auto shape = static_cast<std::size_t>(hook.shape);
  const bool anybodys = hook.shape == TRACER_FREE_SIZED && hook.allocator == TRACER_NO_ALLOCATOR;
  if (shape >= TRACER_SHAPES || (hook.allocator >= TRACER_ALLOCATORS && !anybodys))
    return refuse("its kind is not known");
  if (used_[shape] == TRACER_HOOKS)
    return refuse(fmt::format("there are {} of its kind already", TRACER_HOOKS));
  if (tracer_throws(hook.shape) && !hook.partner)
    return refuse("it throws, and there is no function that does the same without");
  if (const auto other = taken_.find(hook.function); other != taken_.end()) {
    planned.same_as_another = true;
    return refuse(fmt::format("the same function as {}", other->second));
  }

  planned.index = used_[shape];
  planned.entered = {image_.value + header_.hook_offset[shape][planned.index]};
  if (auto done = hook.slots.empty() ? plan_start(planned) : plan_slots(planned); !done) return done;
  ++used_[shape];
  taken_.emplace(hook.function, hook.name);
  return {};
}

Result<> HookPlanner::plan_slots(PlannedHook& planned) const {
  for (const ProcessAddress slot : planned.hook.slots) {
    if (slot.value % sizeof(u64) != 0)
      return refuse(fmt::format("the slot at 0x{:x} is not aligned", slot.value));
    const auto now = memory_.get<std::uint64_t>(slot);
    if (!now) return tl::unexpected<Error>(now.error());
    if (*now != planned.hook.function.value)
      return refuse(fmt::format("the slot at 0x{:x} holds 0x{:x}: another tool's hook", slot.value, *now));
  }
  planned.kind = TRACER_HOOK_SLOT;
  planned.text = fmt::format("{}: {} slot{}, no thread stops", planned.hook.name, planned.hook.slots.size(),
                             planned.hook.slots.size() == 1 ? "" : "s");
  return {};
}

Result<> HookPlanner::plan_start(PlannedHook& planned) {
  const Hook& hook = planned.hook;
  if (hook.code.empty()) return refuse("its code is not known");
  std::vector<std::byte> now(hook.code.size());
  if (auto done = memory_.read(hook.function, now); !done) return done;
  if (now != hook.code) return refuse("its code differs from the file: another tool hooked it");

  auto island = island_of(hook);
  if (!island) return tl::unexpected<Error>(island.error());
  const std::uint64_t number = (*island)->taken;
  planned.trampoline = {(*island)->start.value + number * arch::kTrampolineRoom};
  planned.stub = {(*island)->start.value + (*island)->room * arch::kTrampolineRoom +
                  number * arch::kStubRoom};
  auto entry = arch::plan_entry(hook.code, hook.function, planned.trampoline, planned.stub, hook.entered_at);
  if (!entry) return tl::unexpected<Error>(entry.error());
  // Then one write by the kernel changes all of it or nothing, even if this process is killed.
  const std::uint64_t first = entry->patch_address.value, last = first + entry->after.size() - 1;
  if (first / kPage != last / kPage) return refuse("its start lies across two pages");
  ++(*island)->taken;
  planned.entry = std::move(*entry);
  planned.kind = TRACER_HOOK_ENTRY;
  planned.text = fmt::format("{}: {} bytes of its start at 0x{:x}, all threads stop once", hook.name,
                             planned.entry.before.size(), first);
  return {};
}

Result<HookPlanner::Island*> HookPlanner::island_of(const Hook& hook) {
  if (const auto known = islands_.find(hook.module_start); known != islands_.end()) return &known->second;
  Island island;
  island.room = entries_in_[hook.module_start];
  const std::uint64_t bytes = round_up(island.room * kEntryRoom);
  const AddressRange module{hook.module_start, std::max(hook.module_end, hook.function)};
  const auto start = find_room(maps_, bytes, in_reach(module, bytes));
  if (!start) return refuse("there is no free address within reach of its module");
  island.start = *start;

  process::MapEntry planned;
  planned.start = island.start;
  planned.end = {island.start.value + bytes};
  maps_.insert(std::upper_bound(maps_.begin(), maps_.end(), planned,
                                [](const auto& a, const auto& b) { return a.start < b.start; }),
               planned);
  return &islands_.emplace(hook.module_start, island).first->second;
}

}  // namespace fathom::inject
