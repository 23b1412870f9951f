#include "tools/doctor/target_probe.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "attach/allocators/find.h"
#include "attach/allocators/runtime_arenas.h"
#include "attach/allocators/state/process_reader.h"
#include "attach/inject/tracer/stale_tracer.h"
#include "attach/inject/tracer/tracer.h"
#include "attach/inject/trial/nameless_allocator.h"
#include "base/arch/facts.h"
#include "base/cache_folder.h"
#include "base/fd.h"
#include "base/files.h"
#include "binary/elf/compilers.h"
#include "binary/elf/module_file.h"
#include "binary/probes/heap_probes.h"
#include "binary/symbolize/local_names.h"
#include "binary/symbolize/module_symbols.h"
#include "linux/memory/counted_limits.h"
#include "linux/memory/memory_sampler.h"
#include "linux/perf/event.h"
#include "linux/process/environment.h"
#include "linux/process/maps.h"
#include "linux/process/perf_map.h"
#include "tools/doctor/memory_controller.h"

namespace fathom::doctor {
namespace {

Trial try_open(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd ? Trial{true, {}} : Trial{false, path + ": " + std::strerror(errno)};
}

Trial try_event(int pid, bool with_kernel) {
  perf_event_attr attributes = sources::base_attributes();
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.freq = 1;
  attributes.sample_freq = 99;
  attributes.disabled = 1;
  attributes.exclude_kernel = with_kernel ? 0 : 1;
  attributes.exclude_hv = 1;
  auto event = sources::open_event(attributes, pid, -1, with_kernel ? "cpu-clock" : "cpu-clock, user mode");
  return event ? Trial{true, {}} : Trial{false, event.error().message};
}

// A file is one module however many ranges of it are mapped.
struct MappedFile {
  process::MapEntry first;
  std::uint64_t code_bytes = 0;
};

std::string place_of_names(const ModuleHealth& health, const elf::ElfFile& module) {
  using model::SymbolSource;
  if (!health.symbols_path.empty()) return "debug file " + health.symbols_path;
  switch (health.symbols) {
    case SymbolSource::kDwarf:
      return "its own .debug_info";
    case SymbolSource::kSymtab:
      return module.section(".symtab") != nullptr ? "its own .symtab" : "its own .gnu_debugdata";
    case SymbolSource::kDynsym:
      return "its own .dynsym";
    case SymbolSource::kGo:
      return "its own table of Go functions";
    case SymbolSource::kPseudo:
      return ".eh_frame, by address";
    default:
      return {};
  }
}

ModuleHealth health_of(int pid, const MappedFile& file, symbolize::LocalNames& names, std::uint32_t number) {
  ModuleHealth health{.path = file.first.path, .code_bytes = file.code_bytes, .deleted = file.first.deleted};
  symbolize::ModuleSource source;
  source.path = file.first.path;
  source.pid = pid;
  source.root = fmt::format("/proc/{}/root", pid);
  source.open_path = process::map_files_path(pid, file.first);
  if (!try_open(source.open_path).works) {
    source.open_path = source.root + file.first.path;
    if (file.first.deleted || !try_open(source.open_path).works) {
      health.problem = file.first.deleted
                           ? "the file was replaced or removed, and only root may still open it"
                           : "the file cannot be opened";
      return health;
    }
  }
  const auto symbols = names.open(source, number);
  symbols->check();
  health.symbols = symbols->source();
  health.symbols_path = symbols->source_path();
  health.problem = symbols->lost().empty() ? symbols->problem() : symbols->lost();
  if (const auto module = elf::ModuleFile::open(source.open_path)) {
    health.build_id = module->elf().build_id();
    health.unwind_table =
        module->elf().segment(PT_GNU_EH_FRAME) != nullptr || module->elf().section(".eh_frame") != nullptr;
    health.names_from = place_of_names(health, module->elf());
    health.compilers = elf::compilers_of(module->elf());
  }
  return health;
}

// Adds allocators without names, as a recording would find them, and returns the evidence of each.
std::vector<std::string> find_by_code(int pid, const MappedFile& file, const elf::ModuleFile& module,
                                      allocators::Found& found, bool may_try) {
  if (found.unseen.empty()) return {};
  Fd fd(::open(process::map_files_path(pid, file.first).c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0)
    fd = Fd(::open(fmt::format("/proc/{}/root{}", pid, file.first.path).c_str(),
                   O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  // Mappings begin at whole pages.
  const auto segment = std::ranges::find_if(module.elf().segments(), [&](const elf::Segment& each) {
    return each.type == PT_LOAD && (each.flags & PF_X) != 0 &&
           each.offset.value / arch::kPageBytes == file.first.offset.value / arch::kPageBytes;
  });
  if (fd.get() < 0 || segment == module.elf().segments().end()) return {};
  const std::uint64_t linked = segment->address.value / arch::kPageBytes * arch::kPageBytes;
  return inject::find_by_code({pid, fd.get(), file.first.start.value - linked, may_try, true,
                               default_cache_folder(inject::kFindingFolder)},
                              module.elf(), found);
}

void probe_heap_probes(const elf::ElfFile& file, std::string_view path, TargetFacts& facts) {
  const auto probes = probes::find_heap_probes(file);
  if (!probes) {
    facts.heap_probe_problems.push_back(probes.error().message);
    return;
  }
  if (!probes->empty()) facts.heap_probes.push_back(fmt::format("{}: {}", path, probes::text_of(*probes)));
  facts.heap_frees_told = facts.heap_frees_told || !probes->frees.empty();
  for (const std::string& problem : probes->problems)
    facts.heap_probe_problems.push_back(fmt::format("{}: {}", path, problem));
}

// The text that begins each heap dump. The compiler leaves it out where profiling is not built in.
bool holds_dump_text(const elf::ElfFile& file) {
  const auto bytes = file.bytes();
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find("heap_v2/") !=
         std::string_view::npos;
}

// By the file that is mapped, whatever its name is now.
void probe_allocators(int pid, const MappedFile& file, process::Environment& environment,
                      std::string_view command_line, bool may_try, TargetFacts& facts) {
  auto module = elf::ModuleFile::open(process::map_files_path(pid, file.first));
  if (!module) module = elf::ModuleFile::open(fmt::format("/proc/{}/root{}", pid, file.first.path));
  if (!module) return;
  probe_heap_probes(module->elf(), file.first.path, facts);
  allocators::Found found = allocators::find(module->elf(), nullptr);
  const std::vector<std::string> evidence = find_by_code(pid, file, *module, found, may_try);
  const std::size_t with_names = found.allocators.size() - evidence.size();
  for (const std::string& note : found.notes)
    facts.allocator_notes.push_back(fmt::format("{}: {}", file.first.path, note));
  for (const allocators::Unseen& unseen : found.unseen) {
    const auto off = allocators::said_to_be_off(
        unseen, [&](const std::string& setting) { return environment.has(setting); }, command_line);
    if (off)
      facts.allocator_notes.push_back(fmt::format("{}: {}", file.first.path, *off));
    else
      facts.unseen_allocators.push_back({unseen.label, file.first.path, unseen.why, unseen.remedy});
  }
  for (std::size_t i = 0; i < found.allocators.size(); ++i) {
    const allocators::Allocator& allocator = found.allocators[i];
    AllocatorFact fact{allocator.label, file.first.path, {}};
    for (const allocators::Function& function : allocator.functions) fact.functions.push_back(function.name);
    if (i >= with_names) fact.evidence = evidence[i - with_names];
    if (is_jemalloc(fact)) fact.profiling = holds_dump_text(module->elf());
    facts.allocators.push_back(std::move(fact));
  }
}

void probe_heap(int pid, TargetFacts& facts) {
  facts.heap_tracer_of = inject::holder(pid);
  auto possible = inject::Tracer::check(pid);
  facts.heap = possible ? Trial{true, {}} : Trial{false, possible.error().message};
  if (!possible) facts.heap_remedy = possible.error().remedy;
}

void probe_modules(int pid, const std::vector<process::MapEntry>& maps, const symbolize::Options& options,
                   bool may_try, TargetFacts& facts) {
  std::map<std::pair<std::uint64_t, std::string>, MappedFile> files;
  for (const process::MapEntry& entry : maps) {
    if (!entry.executable) continue;
    if (!entry.is_file()) {
      if (entry.path.empty() || entry.path.starts_with("[anon")) facts.anonymous_code_bytes += entry.size();
      continue;
    }
    MappedFile& file = files[{entry.inode, entry.path}];
    if (file.code_bytes == 0) file.first = entry;
    file.code_bytes += entry.size();
  }
  if (!files.empty()) facts.map_files = try_open(process::map_files_path(pid, files.begin()->second.first));
  process::Environment environment(pid);
  const std::string command_line =
      process::read_beginning(fmt::format("/proc/{}/cmdline", pid), process::kMostStartText).value_or("");
  symbolize::LocalNames reader(options);
  for (const auto& [key, file] : files) {
    facts.modules.push_back(
        health_of(pid, file, reader, static_cast<std::uint32_t>(facts.modules.size() + 1)));
    probe_allocators(pid, file, environment, command_line, may_try, facts);
  }
  std::sort(facts.modules.begin(), facts.modules.end(),
            [](const ModuleHealth& a, const ModuleHealth& b) { return a.code_bytes > b.code_bytes; });
  if (facts.anonymous_code_bytes > 0) {
    auto names = process::read_perf_map(pid);
    facts.perf_map = names ? Trial{true, {}} : Trial{false, names.error().message};
  }
}

void probe_surroundings(int pid, TargetFacts& facts) {
  const process::Namespaces ours = process::read_namespaces(::getpid());
  const process::Namespaces theirs = process::read_namespaces(pid);
  facts.own_pid_namespace = theirs.pid != 0 && theirs.pid != ours.pid;
  facts.own_mount_namespace = theirs.mount != 0 && theirs.mount != ours.mount;
  if (auto memberships = process::read_cgroup(pid)) facts.container = process::guess_container(*memberships);
  if (auto cgroup = process::read_memory_cgroup(pid)) facts.memory_cgroup = *cgroup;
  if (auto memory = sources::MemorySampler::open(pid))
    facts.memory_limit_bytes = memory->cgroup_limit_bytes();
  if (facts.memory_cgroup) facts.swap_limit_bytes = read_swap_limit(*facts.memory_cgroup);
  facts.limits = sources::read_counted_limits(pid);
}

}  // namespace

Result<TargetFacts> probe_target(int pid, const symbolize::Options& options, bool may_try) {
  auto process = process::read_process(pid);
  if (!process) return fail(ErrorKind::kNotFound, fmt::format("no process has the number {}", pid));
  TargetFacts facts;
  facts.process = std::move(*process);
  if (auto status = process::read_status(pid)) facts.status = *status;
  facts.memory = try_open(fmt::format("/proc/{}/mem", pid));
  facts.perf_event = try_event(pid, false);
  facts.perf_event_kernel = try_event(pid, true);
  probe_surroundings(pid, facts);
  auto maps = process::read_maps(pid);
  facts.maps = maps ? Trial{true, {}} : Trial{false, maps.error().message};
  facts.map_files = {false, "none is known"};
  if (maps) probe_modules(pid, *maps, options, may_try, facts);
  if (auto held = allocators::read_allocator_states(pid)) facts.held = std::move(*held);
  probe_heap(pid, facts);
  return facts;
}

}  // namespace fathom::doctor
