#include "record/session/calls/call_probes.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "binary/probes/find.h"
#include "binary/probes/usdt.h"
#include "record/session/notes.h"

namespace fathom::session {
namespace {

std::uint32_t span_kind_of(const probes::Wish& wish) {
  if (wish.span.empty()) return PROBE_SPAN_NONE;
  switch (wish.part) {
    case probes::SpanPart::kBegin:
      return PROBE_SPAN_BEGIN;
    case probes::SpanPart::kEnd:
      return PROBE_SPAN_END;
    case probes::SpanPart::kWhole:
      break;
  }
  return PROBE_SPAN_CALL;
}

probe_wanted wanted_of(const probes::Wish& wish, const probes::Found& found) {
  probe_wanted wanted{};
  wanted.timed = found.untimed.empty() && wish.part == probes::SpanPart::kWhole ? 1 : 0;
  wanted.span = span_kind_of(wish);
  wanted.offset = wish.offset;
  switch (wish.size) {
    case probes::SizeFrom::kNothing:
      wanted.size = PROBE_SIZE_NONE;
      break;
    case probes::SizeFrom::kArgument:
      wanted.size = PROBE_SIZE_ARGUMENT;
      break;
    case probes::SizeFrom::kPointed:
      wanted.size = PROBE_SIZE_POINTED;
      break;
    case probes::SizeFrom::kResult:
      wanted.size = PROBE_SIZE_RESULT;
      break;
  }
  if (wish.argument > 0) wanted.argument = wish.argument - 1;
  return wanted;
}

// Ends first: a call whose beginning is seen can be seen to end.
std::vector<sources::ProbePoint> points_of(const probes::Wish& wish, const probes::Found& found,
                                           const std::string& path, std::optional<std::int32_t> pid) {
  std::vector<sources::ProbePoint> points;
  for (const probes::Place& place : found.places)
    for (const auto& [offset, what] : place.ends) {
      if (wish.part != probes::SpanPart::kWhole) break;
      sources::ProbePoint point{path, offset.value, false, what.returns, {}, pid, {}, {}};
      if (what.is_conditional) point.condition = what.condition;
      points.push_back(point);
    }
  for (const probes::Place& place : found.places)
    points.push_back({path, place.entry_offset.value, true, false, {}, pid, {}, {}});
  return points;
}

std::vector<sources::ProbePoint> points_of(const probes::Wish& wish, const probes::Usdt& found,
                                           const std::string& path, std::optional<std::int32_t> pid) {
  std::vector<sources::ProbePoint> points;
  for (const probes::UsdtPlace& place : found.places) {
    sources::ProbePoint point{path, place.offset.value, true, false, {}, pid, {}, {}};
    if (place.semaphore) point.semaphore = place.semaphore->value;
    if (wish.size != probes::SizeFrom::kNothing) point.value = place.arguments[wish.argument - 1].value;
    points.push_back(std::move(point));
  }
  return points;
}

bool is_program_of(std::int32_t pid, int fd) {
  struct stat program {
  }, file{};
  return ::stat(fmt::format("/proc/{}/exe", pid).c_str(), &program) == 0 && ::fstat(fd, &file) == 0 &&
         program.st_dev == file.st_dev && program.st_ino == file.st_ino;
}

}  // namespace

std::vector<CallProbes::File> CallProbes::files_of(const std::vector<std::int32_t>& pids) const {
  std::vector<File> files;
  for (const std::int32_t pid : pids) {
    for (const CodeMapping& mapping : processes_.mappings(pid)) {
      const CodeModule* module = mapping.module;
      if (module == nullptr || !module->file || !module->fd || module->kind != model::ModuleKind::kFile)
        continue;
      auto file = std::ranges::find(files, module, &File::module);
      if (file == files.end()) {
        const std::string_view path = profile_.strings[profile_.modules[module->id.value].path];
        file = files.insert(file, {module, std::string(path), false, {}, {}});
      }
      file->is_program = file->is_program || is_program_of(pid, module->fd.get());
      if (file->pids.empty() || file->pids.back() != pid) file->pids.push_back(pid);
    }
  }
  return files;
}

// Functions that are not named in a file itself may be in the file that was stripped off it.
void CallProbes::find_names(std::vector<File>& files) const {
  symbolize::Options options;
  options.symbol_directory = options_.symbol_directory;
  symbolize::DebugFiles debug_files(options);
  for (File& file : files) {
    const elf::ElfFile& elf = file.module->file->elf();
    if (elf.section(".symtab") != nullptr) continue;
    if (auto found = debug_files.find(elf, source_of(*file.module, file.pids.front())))
      file.names = std::make_shared<symbolize::DebugFile>(std::move(*found));
  }
}

Result<> CallProbes::begin(const std::vector<std::int32_t>& pids, sources::FunctionProbes* probes) {
  if (probes == nullptr)
    return fail(ErrorKind::kUnsupported, "--probe: only engine bpf can probe functions",
                "run as root; fathom doctor");
  probes_ = probes;
  std::vector<File> files = files_of(pids);
  find_names(files);
  for (const probes::Wish& wish : options_.probes)
    if (auto added = add(wish, files); !added) return added;
  return {};
}

Result<> CallProbes::add(const probes::Wish& wish, const std::vector<File>& files) {
  std::vector<probes::Module> modules;
  for (const File& file : files)
    modules.push_back({file.path, &file.module->file->elf(), file.module->table.get(),
                       file.names ? &file.names->file.elf() : nullptr});
  if (!wish.provider.empty()) return add_usdt(wish, files, modules);
  const auto found = probes::find_function(modules, wish);
  if (!found) return tl::unexpected<Error>(found.error());
  if (!wish.span.empty() && wish.part == probes::SpanPart::kWhole && !found->untimed.empty())
    return fail(ErrorKind::kUnsupported,
                fmt::format("--span {}: the ends of {} cannot be watched: {}", wish.span, found->name,
                            found->untimed),
                "another function");
  const File& file = files[found->module];
  const std::string path = fmt::format("/proc/self/fd/{}", file.module->fd.get());
  std::vector<sources::ProbePoint> points;
  // Other programs use a library too, and each of their calls would also stop.
  if (file.is_program) {
    points = points_of(wish, *found, path, std::nullopt);
  } else {
    for (const std::int32_t pid : file.pids)
      for (auto& point : points_of(wish, *found, path, pid)) points.push_back(std::move(point));
    if (options_.follow_children)
      note_once(profile_.quality,
                "functions of libraries are probed in the target itself and not in processes that it forks");
  }
  if (auto added = probes_->add(wanted_of(wish, *found), points); !added)
    return within("--probe " + wish.function, added.error());
  const bool is_timed = found->untimed.empty() && wish.part == probes::SpanPart::kWhole;
  book(wish, found->name, *file.module, is_timed);
  if (!found->untimed.empty() && wish.part == probes::SpanPart::kWhole)
    note_once(profile_.quality,
              fmt::format("calls of {} are counted and not timed: {}", found->name, found->untimed));
  if (found->restarts)
    note_once(profile_.quality,
              fmt::format("{} jumps to its own start: each round counts as a call", found->name));
  if (found->places.size() > 1)
    note_once(profile_.quality, fmt::format("{} exists in {} copies, which are counted together", found->name,
                                            found->places.size()));
  return {};
}

// A place in the program, not a function: it has a start but no end. Set in the targets only, also in the
// program's own file: no other process's semaphore is incremented.
Result<> CallProbes::add_usdt(const probes::Wish& wish, const std::vector<File>& files,
                              std::span<const probes::Module> modules) {
  const auto found = probes::find_usdt(modules, wish);
  if (!found) return tl::unexpected<Error>(found.error());
  const File& file = files[found->module];
  const std::string path = fmt::format("/proc/self/fd/{}", file.module->fd.get());
  const std::string name = fmt::format("{}:{}", wish.provider, wish.function);
  std::vector<sources::ProbePoint> points;
  for (const std::int32_t pid : file.pids)
    for (auto& point : points_of(wish, found->probe, path, pid)) points.push_back(std::move(point));
  probe_wanted wanted{};
  wanted.size = wish.size == probes::SizeFrom::kNothing ? PROBE_SIZE_NONE : PROBE_SIZE_VALUE;
  wanted.span = span_kind_of(wish);
  if (auto added = probes_->add(wanted, points); !added) return within("--probe " + name, added.error());
  book(wish, name, *file.module, false);
  for (const std::string& problem : found->probe.problems)
    note_once(profile_.quality, fmt::format("--probe {}: one of its places is left out: {}", name, problem));
  if (options_.follow_children)
    note_once(profile_.quality,
              "static probes are watched in the target itself and not in processes that it forks");
  return {};
}

void CallProbes::book(const probes::Wish& wish, const std::string& name, const CodeModule& module,
                      bool timed) {
  span_names_.push_back(builder_.string(wish.span));
  book_.add({builder_.function(name, module.id), timed});
  std::string& facts = profile_.meta.facts["probes"];
  facts += fmt::format("{}{}", facts.empty() ? "" : ", ", name);
}

void CallProbes::take(std::uint64_t now_ns, bool last) {
  if (book_.empty()) return;
  const CallBook::Lookups lookups = {
      [this](std::uint64_t id) { return sink_.stack_of(id); },
      [this](std::int32_t pid) { return profile_.threads[processes_.thread_row(pid, pid).value].process; }};
  book_.take(probes_->read(), now_ns, lookups, last, profile_.calls);
  take_spans();
  if (last) note_open_spans();
}

void CallProbes::take_spans() {
  for (const probe_span& call : probes_->take_spans()) {
    if (call.probe >= span_names_.size() || call.end_ns < call.start_ns) continue;
    model::Span& row = profile_.spans.emplace_back();
    row.start_ns = call.start_ns;
    row.end_ns = call.end_ns;
    row.name = span_names_[call.probe];
    row.source = model::SpanSource::kFunction;
    if (call.tid != 0)
      row.thread =
          processes_.thread_row(static_cast<std::int32_t>(call.pid), static_cast<std::int32_t>(call.tid));
  }
}

// A request that never ends, a transaction that is left open: the one that began first shows for how long.
void CallProbes::note_open_spans() {
  const std::vector<sources::OpenSpan> open = probes_->open_spans();
  if (open.empty()) return;
  const sources::OpenSpan& oldest = *std::ranges::min_element(open, {}, &sources::OpenSpan::start_ns);
  const std::uint64_t end_ns = std::max(profile_.meta.end_ns, oldest.start_ns);
  note_once(
      profile_.quality,
      fmt::format(
          "{} {} begun and not ended: the oldest is {}, which thread {} of process {} began {:.1f} s before the end",
          open.size(), open.size() == 1 ? "span has" : "spans have",
          profile_.strings[span_names_[oldest.probe]], oldest.tid, oldest.pid,
          static_cast<double>(end_ns - oldest.start_ns) * 1e-9));
}

void CallProbes::account() {
  if (book_.empty()) return;
  const probe_counters sums = probes_->sums();
  auto& facts = profile_.meta.facts;
  facts["probe_hits"] = std::to_string(sums.hits);
  facts["probe_ns"] = std::to_string(sums.run_ns);
  if (sums.calls_lost != 0)
    note_once(
        profile_.quality,
        "more processes and functions were probed than there are accounts for: some calls are not counted");
  if (sums.spans_lost != 0)
    note_once(profile_.quality,
              fmt::format("{} spans are missing: their ring was full. A smaller --probe-limit helps",
                          sums.spans_lost));
  if (sums.stacks_lost != 0)
    note_once(profile_.quality,
              "the stacks of some calls of probed functions were not walked: they stand without a caller");
}

}  // namespace fathom::session
