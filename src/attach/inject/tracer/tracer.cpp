#include "attach/inject/tracer/tracer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "attach/inject/plan/hook_planner.h"
#include "attach/inject/stop/target.h"
#include "attach/inject/stop/thread_id.h"
#include "attach/inject/tracer/entries.h"
#include "attach/inject/tracer/forked_copy.h"
#include "attach/inject/tracer/journal.h"
#include "attach/inject/tracer/own_head.h"
#include "attach/inject/tracer/shared_layout.h"
#include "attach/inject/tracer/shared_memory.h"
#include "attach/inject/tracer/shared_view.h"
#include "attach/inject/tracer/stale_tracer.h"
#include "attach/inject/tracer/unmapping.h"
#include "base/arch/ticks.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/mapping.h"
#include "linux/process/status.h"
#include "linux/process/threads.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace fathom::inject {
namespace {

struct Places {
  ProcessAddress shared, image, state;
};

tl::unexpected<Error> no_room(int pid) {
  return fail(ErrorKind::kUnsupported,
              fmt::format("process {}: no gap in its address space for the tracer", pid));
}

// One gap for all three, near the program's code.
Result<Places> choose_places(int pid, std::span<const process::MapEntry> maps, const tracer_shared& head,
                             const tracer_image_header& image) {
  const auto code = std::find_if(maps.begin(), maps.end(),
                                 [](const auto& entry) { return entry.executable && entry.is_file(); });
  if (code == maps.end()) return no_room(pid);
  const std::uint64_t bytes =
      round_up(head.bytes) + round_up(image.text_bytes) + round_up(image.state_bytes) + 2 * kApart;
  auto room = find_room(maps, bytes, in_reach({code->start, code->end}, bytes));
  if (!room) room = find_room(maps, bytes, {{0}, {~std::uint64_t{0}}});
  if (!room) return no_room(pid);
  Places places;
  places.image = *room;
  places.state = {room->value + round_up(image.text_bytes) + kApart};
  places.shared = {places.state.value + round_up(image.state_bytes) + kApart};
  return places;
}

// Creates a mapping in the target at exactly this address.
Result<> map_at(RemoteCaller& caller, std::string_view what, ProcessAddress address, std::uint64_t bytes,
                int protection, int flags, std::uint64_t fd) {
  auto mapped = caller.call(fmt::format("mmap of {}", what), SYS_mmap,
                            {address.value, bytes, static_cast<std::uint64_t>(protection),
                             static_cast<std::uint64_t>(flags | MAP_FIXED_NOREPLACE), fd, 0});
  if (!mapped) {
    Error error = mapped.error();
    if ((protection & PROT_EXEC) != 0 && error.kind == ErrorKind::kPermission) {
      error.kind = ErrorKind::kUnsupported;
      error.message +=
          ": this process may not have new executable memory (SELinux execmem, or a hardened service)";
      error.remedy = "allow it for this process (MemoryDenyWriteExecute=no), or record without --heap";
    }
    return tl::unexpected<Error>(std::move(error));
  }
  if (*mapped == address.value) return {};
  // Kernels before 4.17 treat the address as a hint.
  (void)caller.call("munmap", SYS_munmap, {*mapped, bytes});
  return fail(ErrorKind::kSystem, fmt::format("mmap of {}: the chosen place is taken", what), "try again");
}

// The first thread's stack, including the room it may grow into.
void find_main_stack(int pid, std::span<const process::MapEntry> maps, tracer_shared& head) {
  constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 30;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    if (maps[i].path != "[stack]") continue;
    rlimit limit{};
    const bool known = ::prlimit(pid, RLIMIT_STACK, nullptr, &limit) == 0;
    const std::uint64_t room = known && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : kUnlimited;
    const std::uint64_t below = i == 0 ? 0 : maps[i - 1].end.value;
    const std::uint64_t end = maps[i].end.value;
    head.main_stack_end = end;
    head.main_stack_start = std::min(maps[i].start.value, std::max(below, end - std::min(end, room)));
  }
}

}  // namespace

struct Tracer::State {
  Target target;
  OwnHead head;
  Mapping local;
  Fd held;  // the lock that says that we hold it
  tracer_image_header header{};
  Places places;
  std::array<std::uint32_t, TRACER_SHAPES> used{};
  std::vector<std::uint64_t> entered;  // addresses of the tracer that slots hold or have held
  std::vector<WayBack> ways_back;      // out of the trampolines
  bool unmapped = false;

  State(Target&& where, const tracer_shared& planned, const tracer_image_header& image, const Places& chosen)
      : target(std::move(where)), head(planned), header(image), places(chosen) {}

  tracer_shared& shared() { return *static_cast<tracer_shared*>(local.data()); }
  ProcessAddress config(std::size_t offset) const {
    return {places.image.value + header.config_offset + offset};
  }

  Result<> map_all(std::span<const std::byte> image);
  Result<> make_shared(RemoteCaller& caller);
  Result<> write_config(std::span<const PlannedHook> hooks, const PlannedHook& hook);
  Result<> map_islands(std::span<const PlannedHook* const> entries);
  Result<> put_slots(const PlannedHook& hook);
  Result<> put_in(std::span<const PlannedHook> hooks);
};

// Calls memfd_create in the target, and maps it here and there. The descriptor in the target only exists for
// these few calls.
Result<> Tracer::State::make_shared(RemoteCaller& caller) {
  const std::uint64_t bytes = head.layout().bytes;
  const auto name = caller.text(kSharedName);
  if (!name) return tl::unexpected<Error>(name.error());
  const auto fd = caller.call("memfd_create", SYS_memfd_create, {*name, MFD_CLOEXEC | MFD_ALLOW_SEALING});
  if (!fd) return tl::unexpected<Error>(fd.error());

  const auto map_both = [&]() -> Result<> {
    auto memory = map_shared(target.pid, static_cast<int>(*fd), bytes);
    if (!memory) return tl::unexpected<Error>(memory.error());
    local = std::move(memory->mapping);
    held = std::move(memory->held);
    // Records all mappings before creating any: the shared memory itself last, because it describes the
    // others.
    for (const auto& [place, size] :
         {std::pair(places.image, std::uint64_t{header.text_bytes}),
          std::pair(places.state, round_up(header.state_bytes)), std::pair(places.shared, bytes)})
      if (auto noted = head.note_mapping(place, size); !noted) return noted;
    head.publish(shared());
    return map_at(caller, "shared memory", places.shared, bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, *fd);
  };
  auto done = map_both();
  (void)caller.call("close", SYS_close, {*fd});
  return done;
}

Result<> Tracer::State::map_all(std::span<const std::byte> image) {
  return target.borrow_thread([&](StoppedThread& thread, RemoteCaller& caller) -> Result<> {
    head.plan().tid_offset = find_tid_offset(target.pid, thread, target.memory);
    if (auto made = make_shared(caller); !made) return made;

    const auto advise = [&](ProcessAddress place, std::uint64_t bytes, int advice) -> Result<> {
      auto done =
          caller.call("madvise", SYS_madvise, {place.value, bytes, static_cast<std::uint64_t>(advice)});
      if (!done) return tl::unexpected<Error>(done.error());
      return {};
    };
    constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;
    constexpr std::uint64_t kNoFile = ~std::uint64_t{0};
    const std::uint64_t state_bytes = round_up(header.state_bytes);
    if (auto done = advise(places.shared, head.layout().bytes, MADV_DONTFORK); !done) return done;
    if (auto done = map_at(caller, "state", places.state, state_bytes, PROT_READ | PROT_WRITE,
                           kPrivate | MAP_NORESERVE, kNoFile);
        !done)
      return done;
    if (auto done = advise(places.state, state_bytes, MADV_WIPEONFORK); !done) return done;
    if (auto done = map_at(caller, "the tracer's code", places.image, header.text_bytes,
                           PROT_READ | PROT_EXEC, kPrivate, kNoFile);
        !done)
      return done;
    // Done while tracing: a kernel may allow forced writes only to a tracer.
    const auto& memory = target.memory;
    if (auto done = memory.write(places.image, image); !done) return done;
    // A process that sees the state must see the shared memory: in the other order, the tracer could not
    // distinguish it from a forked child.
    if (auto done = memory.put<std::uint64_t>({places.state.value + offsetof(tracer_state_head, shared)},
                                              places.shared.value);
        !done)
      return done;
    if (auto done = memory.put<std::uint64_t>(config(offsetof(tracer_config, shared)), places.shared.value);
        !done)
      return done;
    return memory.put<std::uint64_t>(config(offsetof(tracer_config, state)), places.state.value);
  });
}

Result<> Tracer::check(int pid) {
  if (auto done = check_traceable(pid); !done) return done;
  const auto holding = holder(pid);
  if (!holding) return {};
  if (*holding != 0)
    return fail(ErrorKind::kPermission,
                fmt::format("process {}: fathom {} traces its heap already", pid, *holding),
                "end that recording first");
  return fail(ErrorKind::kUnsupported,
              fmt::format("process {}: a heap tracer is in it whose profiler is gone", pid),
              fmt::format("fathom detach -p {}", pid));
}

Result<Tracer> Tracer::place(int pid, const Options& options) {
  const auto header = read_image_header(options.image);
  if (!header) return tl::unexpected<Error>(header.error());
  auto planned = lay_out(options);
  if (!planned) return tl::unexpected<Error>(planned.error());
  if (auto done = check(pid); !done) return tl::unexpected<Error>(done.error());
  auto target = Target::open(pid);
  if (!target) return tl::unexpected<Error>(target.error());
  const auto maps = process::read_maps(pid);
  if (!maps) return tl::unexpected<Error>(maps.error());
  const auto status = process::read_status(pid);
  const auto own = process::read_stat(::getpid());
  if (!status) return tl::unexpected<Error>(status.error());
  if (!own) return tl::unexpected<Error>(own.error());
  auto places = choose_places(pid, *maps, *planned, *header);
  if (!places) return tl::unexpected<Error>(places.error());

  planned->target_pid = status->namespace_pids.empty() ? pid : status->namespace_pids.back();
  planned->profiler_pid = ::getpid();
  planned->profiler_start = own->start_ticks;
  planned->may_call_kernel = target->seccomp == 0 ? 1 : 0;
  planned->tsc_base = arch::read_ticks();
  planned->sequence_base_ns = monotonic_ns();
  find_main_stack(pid, *maps, *planned);

  Tracer tracer(std::make_unique<State>(State(std::move(*target), *planned, *header, *places)));
  State& state = *tracer.state_;
  if (auto done = state.map_all(options.image); !done) return tl::unexpected<Error>(done.error());
  return tracer;
}

Tracer::Tracer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tracer::Tracer(Tracer&&) noexcept = default;

Tracer::~Tracer() {
  if (!state_ || state_->local.size() == 0) return;  // moved from, or never placed
  if (unhook()) (void)unmap();
}

int Tracer::pid() const {
  return state_->target.pid;
}
tracer_shared& Tracer::shared() {
  return state_->shared();
}
const tracer_shared& Tracer::layout() const {
  return state_->head.layout();
}
std::span<const tracer_own_mapping> Tracer::own_mappings() const {
  return state_->head.mappings();
}
std::span<std::byte> Tracer::memory() {
  return {static_cast<std::byte*>(state_->local.data()), state_->local.size()};
}
bool Tracer::is_undone(const PlannedHook& hook) const {
  const RemoteMemory& memory = state_->target.memory;
  if (hook.kind == TRACER_HOOK_SLOT) {
    const auto now = memory.get<std::uint64_t>(hook.hook.slots.front());
    return now && *now == hook.hook.function.value;
  }
  std::vector<std::byte> now(hook.entry.before.size());
  return memory.read(hook.entry.patch_address, now) && std::ranges::equal(now, hook.entry.before);
}

Remains Tracer::remains() const {
  return find_remains(state_->target, state_->head.journal(), state_->head.mappings());
}

std::optional<Remains> Tracer::restore_forked(int pid, const unwind::AddressSpace* space) const {
  return inject::restore_forked(pid,
                                {.journal = std::as_const(state_->head).journal(),
                                 .own = state_->head.mappings(),
                                 .entered = state_->entered,
                                 .ways_back = state_->ways_back,
                                 .image = state_->places.image},
                                space);
}

void Tracer::abandon() {
  state_->unmapped = true;
}

Stops Tracer::stops() const {
  return state_->target.stops;
}

std::vector<PlannedHook> Tracer::plan(std::vector<Hook> hooks) const {
  std::vector<PlannedHook> planned;
  planned.reserve(hooks.size());
  for (Hook& hook : hooks) planned.emplace_back().hook = std::move(hook);
  auto maps = process::read_maps(state_->target.pid);
  HookPlanner planner(state_->target.memory, maps ? std::move(*maps) : std::vector<process::MapEntry>{},
                      state_->header, state_->places.image, state_->used);
  planner.plan(planned);
  return planned;
}

// All data that the hook's code reads, written before any thread can get there.
Result<> Tracer::State::write_config(std::span<const PlannedHook> hooks, const PlannedHook& hook) {
  const auto shape = static_cast<std::size_t>(hook.hook.shape);
  const std::size_t place = shape * TRACER_HOOKS + hook.index;
  const auto& memory = target.memory;
  const bool entry = hook.kind == TRACER_HOOK_ENTRY;
  if (hook.hook.partner) {
    std::uint64_t partner = hook.hook.partner->value;
    // If a partner is also hooked at its entry, calls it after its hook, so that nothing is counted twice.
    for (const auto& other : hooks)
      if (other.kind == TRACER_HOOK_ENTRY && other.hook.function == *hook.hook.partner)
        partner = other.trampoline.value;
    if (auto done = memory.put(
            config(offsetof(tracer_config, partner) +
                   (tracer_throwing_row(hook.hook.shape) * TRACER_HOOKS + hook.index) * sizeof(u64)),
            partner);
        !done)
      return done;
  }
  if (auto done = memory.put(config(offsetof(tracer_config, allocator) + place), hook.hook.allocator); !done)
    return done;
  return memory.put(config(offsetof(tracer_config, original) + place * sizeof(u64)),
                    entry ? hook.trampoline.value : hook.hook.function.value);
}

// The pages of trampolines and stubs, near their modules.
Result<> Tracer::State::map_islands(std::span<const PlannedHook* const> entries) {
  std::vector<AddressRange> islands;
  const auto add = [&](ProcessAddress address, std::size_t bytes) {
    const std::uint64_t start = address.value / kPage * kPage, end = round_up(address.value + bytes);
    for (auto& island : islands)
      if (start <= island.end.value && end >= island.start.value) {
        island = {{std::min(start, island.start.value)}, {std::max(end, island.end.value)}};
        return;
      }
    islands.push_back({{start}, {end}});
  };
  for (const auto* hook : entries) {
    add(hook->trampoline, arch::kTrampolineRoom);
    add(hook->stub, arch::kStubRoom);
  }
  if (islands.empty()) return {};
  for (const auto& island : islands)
    if (auto noted = head.note_mapping(island.start, island.end.value - island.start.value); !noted)
      return noted;
  return target.borrow_thread([&](StoppedThread&, RemoteCaller& caller) -> Result<> {
    for (const auto& island : islands)
      if (auto done = map_at(caller, "trampolines", island.start, island.end.value - island.start.value,
                             PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, ~std::uint64_t{0});
          !done)
        return done;
    // The jumps into the image come first: by them, or by zeros, a later process recognizes an island after a
    // kill.
    for (const auto* hook : entries)
      if (auto done = target.memory.write(hook->stub, arch::far_jump(hook->entered.value)); !done)
        return done;
    for (const auto* hook : entries)
      if (auto done = target.memory.write(hook->trampoline, hook->entry.trampoline); !done) return done;
    return {};
  });
}

Result<> Tracer::State::put_slots(const PlannedHook& hook) {
  const auto before = std::as_bytes(std::span(&hook.hook.function.value, 1));
  const auto after = std::as_bytes(std::span(&hook.entered.value, 1));
  entered.push_back(hook.entered.value);
  for (const ProcessAddress slot : hook.hook.slots) {
    const auto now = target.memory.get<std::uint64_t>(slot);
    if (!now) return tl::unexpected<Error>(now.error());
    if (*now != hook.hook.function.value)
      return fail(ErrorKind::kUnsupported,
                  fmt::format("{}: the slot at 0x{:x} has changed: another tool hooked it", hook.hook.name,
                              slot.value));
    if (auto done = head.note_change(TRACER_HOOK_SLOT, slot, before, after, hook.hook.module_start); !done)
      return done;
    if (auto done = target.memory.write(slot, after); !done) return done;
  }
  return {};
}

Result<> Tracer::State::put_in(std::span<const PlannedHook> hooks) {
  std::vector<const PlannedHook*> entries;
  for (const auto& hook : hooks)
    if (hook.kind == TRACER_HOOK_ENTRY) entries.push_back(&hook);
  if (auto done = map_islands(entries); !done) return done;
  const auto written = target.while_writable([&]() -> Result<> {
    for (const auto& hook : hooks)
      if (hook.kind != TRACER_HOOK_NONE)
        if (auto done = write_config(hooks, hook); !done) return done;
    for (const auto& hook : hooks)
      if (hook.kind == TRACER_HOOK_SLOT)
        if (auto done = put_slots(hook); !done) return done;
    return {};
  });
  if (!written) return written;
  for (const auto* hook : entries)
    if (auto done = head.note_change(TRACER_HOOK_ENTRY, hook->entry.patch_address, hook->entry.before,
                                     hook->entry.after, hook->hook.module_start);
        !done)
      return done;
  for (const auto* hook : entries)
    for (const auto& moved : hook->entry.moved)
      ways_back.push_back({hook->trampoline.value + moved.to, hook->hook.function.value + moved.from});
  return put_entries(target, entries);
}

Result<> Tracer::hook(const std::vector<PlannedHook>& hooks) {
  State& state = *state_;
  for (const auto& hook : hooks)
    if (hook.kind != TRACER_HOOK_NONE) {
      auto& used = state.used[static_cast<std::size_t>(hook.hook.shape)];
      used = std::max(used, hook.index + 1);
    }
  auto done = state.put_in(hooks);
  if (!done) (void)unhook();
  return done;
}

Result<> Tracer::unhook() {
  State& state = *state_;
  if (state.unmapped) return {};
  __atomic_store_n(&state.shared().mode, TRACER_OFF, __ATOMIC_SEQ_CST);
  auto done = take_back(state.target, state.head.journal(), state.ways_back);
  state.head.publish_what_is_in();
  if (!done && done.error().kind == ErrorKind::kNotFound)
    return {};  // the process and everything in it is
                // gone
  if (!done) return tl::unexpected<Error>(done.error());
  if (done->foreign.empty()) return {};
  return fail(
      ErrorKind::kUnsupported,
      fmt::format(
          "process {}: another tool changed {} hooked places afterwards; fathom left them as they are, the first at {}",
          state.target.pid, done->foreign.size(), done->foreign[0]));
}

Result<bool> Tracer::unmap(const unwind::AddressSpace* space) {
  State& state = *state_;
  if (state.unmapped) return true;
  const auto journal = state.head.journal();
  if (std::any_of(journal.begin(), journal.end(), [](const auto& entry) { return entry.in != 0; })) {
    const auto maps = process::read_maps(state.target.pid);
    return !maps || maps->empty();  // some reference is left, unless nothing is left at all
  }
  auto done = unmap_own(state.target, state.head.mappings(), state.entered, space);
  if (done && *done) state.unmapped = true;
  return done;
}

}  // namespace fathom::inject
