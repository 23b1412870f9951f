#include "record/session/heap/heap_dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "attach/inject/stop/thread_places.h"
#include "attach/inject/tracer/tracer.h"
#include "attach/inject/trial/nameless_allocator.h"
#include "base/cache_folder.h"
#include "binary/probes/heap_probes.h"
#include "linux/process/find.h"
#include "record/session/heap/heap_target.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {
namespace {

// No walker: nothing is recorded.
class NoWalker final : public WalkerControl {
 public:
  void set_mappings(std::int32_t, std::span<const unwind_mapping>, std::uint32_t) override {}
  void forget(std::int32_t) override {}
  std::uint32_t epoch_after_exec(std::int32_t, std::uint32_t known) override { return known; }
};

// Measured: to stop a thread, look at its stack and let it go.
constexpr double kMsPerThread = 0.05;

std::string describe_hook(const inject::Hook& hook, const HeapTarget& target) {
  const std::string& module = target.allocators[hook.allocator].module_name;
  std::string text = fmt::format("  {:<24} {:#x} in {}: ", hook.name, hook.function.value, module);
  if (!hook.slots.empty()) {
    text += fmt::format("{} word{} of data at", hook.slots.size(), hook.slots.size() == 1 ? "" : "s");
    for (const ProcessAddress slot : hook.slots) text += fmt::format(" {:#x}", slot.value);
    return text + ", no code changed\n";
  }
  // Where trampoline and stub will stand is known only when they are mapped; whether it can be done does not
  // depend on it.
  const ProcessAddress near{hook.module_start.value > 0x20000 ? hook.module_start.value - 0x10000 : 0x10000};
  const auto plan =
      arch::plan_entry(hook.code, hook.function, near, {near.value + arch::kTrampolineRoom}, hook.entered_at);
  if (!plan) return text + "left alone: " + plan.error().message + "\n";
  return text + fmt::format("{} bytes of code at {:#x}\n", plan->after.size(), plan->patch_address.value);
}

// What a sampled recording does where the process has probes of its own; "": it has none.
std::string describe_probes(std::span<const CodeMapping> mappings, const model::Profile& profile) {
  std::string text;
  bool frees_told = false;
  std::set<const CodeModule*> seen;
  for (const CodeMapping& mapping : mappings) {
    if (mapping.module == nullptr || !mapping.module->file || !seen.insert(mapping.module).second) continue;
    const auto found = probes::find_heap_probes(mapping.module->file->elf());
    if (!found || found->empty()) continue;
    frees_told = frees_told || !found->frees.empty();
    text += fmt::format("{} probes of its own in {}: {}\n", probes::kHeapProvider,
                        profile.strings[profile.modules[mapping.module->id.value].path], text_of(*found));
  }
  if (!text.empty() && !frees_told)
    text += "They do not report frees, so they cannot show live memory; fathom inserts its tracer:\n";
  else if (!text.empty())
    text +=
        "With engine bpf, fathom reads them: it inserts nothing into the process and stops none of its threads.\nWithout it, or with --heap exact, --each-block or --mappings, fathom inserts its tracer:\n";
  return text;
}

}  // namespace

Result<std::string> describe_heap_tracing(std::int32_t pid, const std::string& symbol_directory,
                                          bool may_probe, bool sampled) {
  if (auto possible = inject::Tracer::check(pid); !possible) return tl::unexpected<Error>(possible.error());
  model::Profile profile;
  model::Builder builder(profile);
  symbolize::Options symbols;
  symbols.symbol_directory = symbol_directory;
  symbolize::Worker worker(symbols);
  NoWalker walker;
  ModuleCatalog modules(builder, worker, {});
  ProcessTable processes(profile, modules, walker, false);
  if (!processes.read_from_proc(pid)) return tl::unexpected<Error>(process::unreadable_process(pid));
  symbolize::DebugFiles debug_files(symbols);
  HeapTarget target;
  target.may_probe = may_probe;
  target.at_work = true;
  target.cache_folder = default_cache_folder(inject::kFindingFolder);
  find_more(target, pid, processes.mappings(pid), debug_files);

  std::string text = sampled ? describe_probes(processes.mappings(pid), profile) : std::string();
  for (std::size_t i = 0; i < target.allocators.size(); ++i) {
    text += fmt::format("{} in {}\n", target.allocators[i].label, target.allocators[i].module_name);
    for (const inject::Hook& hook : target.hooks) {
      if (hook.allocator == i) text += describe_hook(hook, target);
    }
  }
  for (const HeapTarget::UnseenOfModule& unseen : target.unseen) text += text_of(unseen) + "\n";
  for (const std::string& each : target.found_by_code) text += each + "\n";
  for (const std::string& note : target.notes) text += "not traced: " + note + "\n";
  const auto threads = inject::thread_places(pid);
  if (!threads) return tl::unexpected<Error>(threads.error());
  text += fmt::format("{} threads:\n", threads->size());
  std::map<std::string, int> places;
  for (const auto& thread : *threads) ++places[thread.what + (thread.idle ? ", idle" : "")];
  for (const auto& [place, count] : places) text += fmt::format("  {:>5} {}\n", count, place);
  const bool entries =
      std::ranges::any_of(target.hooks, [](const inject::Hook& hook) { return hook.slots.empty(); });
  text += "One idle thread would be borrowed for about a millisecond to map the tracer.\n";
  text +=
      entries
          ? fmt::format(
                "All threads would stand still for about {:.1f} ms, twice: to put the code in and to restore it.\n",
                0.5 + kMsPerThread * static_cast<double>(threads->size()))
          : std::string("No other thread would stop until the tracer is unmapped at the end.\n");
  text += "Nothing was changed.\n";
  return text;
}

}  // namespace fathom::session
