#include "attach/inject/live/confirmation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/arch/common/function_ends.h"
#include "base/stable_sort.h"
#include "linux/process/maps.h"

namespace fathom::inject {
namespace {

using allocators::nameless::name_of;
using allocators::nameless::Role;

constexpr std::size_t kMostReturns = 2;  // together with a call and a free these use all registers

// jemalloc rounds a size to its class: 8, multiples of 16 up to 128, then four per doubling.
std::uint64_t jemalloc_class(std::uint64_t size) {
  if (size <= 8) return 8;
  if (size <= 128) return (size + 15) & ~std::uint64_t{15};
  const std::uint64_t step = std::bit_floor(size - 1) / 4;
  return (size + step - 1) / step * step;
}
bool of_one_jemalloc_class(std::uint64_t given, std::uint64_t freed) {
  return jemalloc_class(given) == jemalloc_class(freed);
}

std::vector<std::uint64_t> returns_of(const elf::ElfFile& file, const BelievedEntry& entry) {
  const auto code = file.bytes_at(entry.address, entry.size);
  if (!code) return {};
  const arch::CodePart part{*code, entry.address.value};
  const arch::FunctionEnds ends = arch::function_ends({&part, 1});
  std::vector<std::uint64_t> found;
  if (ends.problem.empty())
    for (const arch::FunctionEnd& each : ends.ends)
      if (each.returns) found.push_back(each.address);
  return found;
}

bool can_watch(const std::vector<std::uint64_t>& returns) {
  return !returns.empty() && returns.size() <= kMostReturns;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace

bool gives_blocks(Role role) {
  switch (role) {
    case Role::kMalloc:
    case Role::kCalloc:
    case Role::kMallocx:
    case Role::kNew:
    case Role::kNewAligned:
    case Role::kZalloc:
    case Role::kMallocAligned:
    case Role::kZallocAligned:
    case Role::kMallocn:
      return true;
    default:
      return false;
  }
}
bool frees_blocks(Role role) {
  return role == Role::kFree || role == Role::kSdallocx;
}
bool resizes_blocks(Role role) {
  return role == Role::kRealloc || role == Role::kRallocx || role == Role::kReallocAligned ||
         role == Role::kReallocarray || role == Role::kXallocx;
}

Result<WatchChoice> choose_to_watch(const elf::ElfFile& file, std::span<const BelievedEntry> entries,
                                    std::span<const std::size_t> quiet) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (std::ranges::find(quiet, i) == quiet.end()) order.push_back(i);
  stable_sort_rows(order, std::greater(), [&](std::size_t each) {
    const Role role = entries[each].role;
    const bool plain = role == Role::kMalloc || role == Role::kFree || role == Role::kRealloc;
    return std::pair(entries[each].callers, plain);
  });
  const auto first = [&](const auto& is_it) -> std::optional<std::size_t> {
    const auto found = std::ranges::find_if(order, is_it);
    return found == order.end() ? std::nullopt : std::optional(*found);
  };
  const auto gives = first([&](std::size_t each) {
    return gives_blocks(entries[each].role) && can_watch(returns_of(file, entries[each]));
  });
  if (!gives) return fail(ErrorKind::kUnsupported, "the return of its allocating function is unknown");
  const auto frees = first([&](std::size_t each) { return frees_blocks(entries[each].role); });
  if (!frees) return fail(ErrorKind::kUnsupported, "none of it frees memory");
  return WatchChoice{*gives, frees,
                     first([&](std::size_t each) { return resizes_blocks(entries[each].role); })};
}

Result<WatchPlan> plan_watch(const elf::ElfFile& file, std::span<const BelievedEntry> entries,
                             const WatchChoice& choice) {
  const auto address_of = [&](std::size_t entry) { return ProcessAddress{entries[entry].address.value}; };
  const std::vector<std::uint64_t> returns = returns_of(file, entries[choice.gives]);
  if (!can_watch(returns))
    return fail(ErrorKind::kUnsupported,
                fmt::format("where its {} returns is not known", name_of(entries[choice.gives].role)));
  WatchPlan plan;
  plan.watched.push_back(choice.gives);
  plan.points.push_back({address_of(choice.gives), Point::kGives});
  for (const std::uint64_t each : returns) plan.points.push_back({{each}, Point::kGave});
  const auto add = [&](std::optional<std::size_t> entry, Point point) {
    if (!entry || plan.points.size() == kBreakpointRegisters) return false;
    plan.watched.push_back(*entry);
    plan.points.push_back({address_of(*entry), point});
    return true;
  };
  add(choice.frees, Point::kFrees);
  add(choice.resizes, Point::kResizes);
  const Role role = entries[choice.gives].role;
  plan.belief.multiplies = role == Role::kCalloc || role == Role::kMallocn;
  plan.belief.flags_tell_alignment = role == Role::kMallocx;
  plan.belief.frees_tell_size = choice.frees && entries[*choice.frees].role == Role::kSdallocx;
  plan.belief.same_size = of_one_jemalloc_class;
  plan.belief.all_ends_watched = true;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if ((frees_blocks(entries[i].role) || resizes_blocks(entries[i].role)) &&
        std::ranges::find(plan.watched, i) == plan.watched.end())
      plan.belief.all_ends_watched = false;
  return plan;
}

Result<Confirmation> confirm(int pid, std::uint64_t bias, std::span<const BelievedEntry> entries,
                             const WatchPlan& plan, const WatchLimits& limits) {
  std::vector<WatchedPoint> points = plan.points;
  for (WatchedPoint& each : points) each.address.value += bias;
  MemoryPicture memory;
  // Before and after the watch: the allocator may map and unmap in the meantime.
  const auto look = [&]() -> Result<> {
    const auto maps = process::read_maps(pid);
    if (!maps) return tl::unexpected<Error>(maps.error());
    memory.add(*maps);
    return {};
  };
  if (auto looked = look(); !looked) return tl::unexpected<Error>(looked.error());
  auto watch = watch_points(pid, points, limits);
  if (!watch) return tl::unexpected<Error>(watch.error());
  if (auto looked = look(); !looked) return tl::unexpected<Error>(looked.error());

  Belief belief = plan.belief;
  belief.all_ends_watched &= watch->all_threads;
  Confirmation result;
  result.verdict = judge(watch->hits, watch->lost, memory, belief);
  result.hits = watch->met;
  result.duration_ns = watch->duration_ns;
  result.threads = watch->threads;
  result.met.assign(entries.size(), false);
  std::vector<std::string> names;
  for (const std::size_t each : plan.watched) {
    names.emplace_back(name_of(entries[each].role));
    const Role role = entries[each].role;
    const auto is_its = [&](const Hit& hit) {
      return (hit.point == Point::kGives && gives_blocks(role)) ||
             (hit.point == Point::kFrees && frees_blocks(role)) ||
             (hit.point == Point::kResizes && resizes_blocks(role));
    };
    result.met[each] = std::ranges::any_of(watch->hits, is_its);
  }
  result.functions = list_of(names);
  return result;
}

std::string describe(const Confirmation& confirmation) {
  const Verdict& verdict = confirmation.verdict;
  const std::string how = fmt::format(
      "({}; {} hit{} of breakpoints in {:.0f} ms, {} thread{})", confirmation.functions, confirmation.hits,
      confirmation.hits == 1 ? "" : "s", static_cast<double>(confirmation.duration_ns) / 1e6,
      confirmation.threads, confirmation.threads == 1 ? "" : "s");
  switch (verdict.kind) {
    case Verdict::Kind::kConfirmed:
      return fmt::format("seen at work in the process {}: {}, nothing speaks against it", how,
                         verdict.describe());
    case Verdict::Kind::kContradicted:
      return fmt::format("at work in the process they do something else {}: {}", how, verdict.why);
    case Verdict::Kind::kQuiet:
      break;
  }
  return fmt::format("too little was seen of them at work in the process {}: {}", how, verdict.why);
}

}  // namespace fathom::inject
