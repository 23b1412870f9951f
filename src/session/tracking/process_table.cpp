#include "session/tracking/process_table.h"

#include <algorithm>

#include "process/find.h"
#include "process/status.h"
#include "process/threads.h"

namespace fathom::session {

using model::ProcessId;
using model::ThreadId;

ProcessTable::ProcessTable(model::Profile& profile, ModuleCatalog& modules, WalkerControl& walker,
                           bool follow_children)
    : profile_(profile), modules_(modules), walker_(walker), follow_children_(follow_children) {}

ProcessTable::LiveProcess& ProcessTable::add_process(std::int32_t pid, std::int32_t parent_pid,
                                                     std::uint64_t start_ns) {
  LiveProcess& process = processes_[pid];
  process = {};
  process.row = ProcessId{static_cast<std::uint32_t>(profile_.processes.size())};
  model::Process row;
  row.pid = pid;
  row.parent_pid = parent_pid;
  row.start_ns = start_ns;
  profile_.processes.push_back(row);
  return process;
}

void ProcessTable::add_thread(std::int32_t pid, std::int32_t tid, std::uint64_t start_ns, std::string name) {
  LiveThread& thread = threads_[tid];
  thread = {pid, std::move(name), start_ns, std::nullopt};
  if (const auto process = processes_.find(pid); process != processes_.end())
    process->second.threads.insert(tid);
}

bool ProcessTable::read_from_proc(std::int32_t pid) {
  auto maps = process::read_maps(pid);
  auto threads = process::read_threads(pid);
  // One that has ended and was not waited for maps nothing any more: what it mapped before still gives its
  // last stacks their names.
  if (!maps || maps->empty() || !threads) return false;
  auto known = processes_.find(pid);
  const bool is_new = known == processes_.end();
  auto info = process::read_process(pid);
  LiveProcess& process = is_new ? add_process(pid, info ? info->parent_pid : 0, 0) : known->second;
  if (info) {
    model::Process& row = profile_.processes[process.row.value];
    row.name = profile_.strings.intern(info->name);
    row.executable = profile_.strings.intern(info->executable);
  }
  for (const auto& thread : *threads) {
    if (!threads_.contains(thread.tid)) add_thread(pid, thread.tid, 0, thread.name);
  }
  std::vector<CodeMapping> mappings;
  for (const auto& entry : *maps) {
    if (const auto mapping = code_mapping(pid, entry)) mappings.push_back(*mapping);
  }
  const auto same = [](const CodeMapping& a, const CodeMapping& b) {
    return a.start == b.start && a.end == b.end && a.bias == b.bias && a.module == b.module;
  };
  if (!is_new && std::ranges::equal(mappings, process.mappings, same)) return true;
  process.mappings = std::move(mappings);
  if (!is_new) ++process.epoch;
  publish(pid, process);
  return true;
}

void ProcessTable::expect_exec(std::int32_t pid, std::uint64_t time_ns) {
  add_process(pid, 0, time_ns);
  add_thread(pid, pid, time_ns, "");
}

std::optional<CodeMapping> ProcessTable::code_mapping(std::int32_t pid, const process::MapEntry& entry) {
  if (!entry.executable || entry.path == "[vsyscall]") return std::nullopt;
  const bool is_tracer = std::ranges::any_of(tracer_code_, [&](const TracerCode& code) {
    return code.pid == pid && entry.start.value >= code.start && entry.end.value <= code.end;
  });
  CodeModule& module = is_tracer ? modules_.tracer() : modules_.of_mapping(pid, entry);
  CodeMapping mapping{entry.start.value, entry.end.value, 0, &module};
  if (module.kind == model::ModuleKind::kVdso) mapping.bias = entry.start.value;
  if (module.kind == model::ModuleKind::kFile)
    mapping.bias = module.bias(entry).value_or(entry.start.value - entry.offset.value);
  return mapping;
}

void ProcessTable::expect_tracer(std::int32_t pid, std::uint64_t start, std::uint64_t end) {
  tracer_code_.push_back({pid, start, end});
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return;
  for (CodeMapping& mapping : process->second.mappings) {
    if (mapping.start >= start && mapping.end <= end) mapping.module = &modules_.tracer();
  }
}

bool ProcessTable::insert_mapping(LiveProcess& process, const CodeMapping& mapping) {
  std::vector<CodeMapping> kept;
  kept.reserve(process.mappings.size() + 2);
  bool changed = false;
  for (const CodeMapping& old : process.mappings) {
    if (old.end <= mapping.start || old.start >= mapping.end) {
      kept.push_back(old);
      continue;
    }
    if (old.module != mapping.module || old.bias != mapping.bias) changed = true;
    if (old.start < mapping.start) kept.push_back({old.start, mapping.start, old.bias, old.module});
    if (old.end > mapping.end) kept.push_back({mapping.end, old.end, old.bias, old.module});
  }
  kept.push_back(mapping);
  std::ranges::sort(kept, {}, &CodeMapping::start);
  process.mappings = std::move(kept);
  return changed;
}

void ProcessTable::publish(std::int32_t pid, const LiveProcess& process) {
  std::vector<unwind_mapping> mappings;
  mappings.reserve(process.mappings.size());
  for (const CodeMapping& code : process.mappings) {
    unwind_mapping mapping{};
    mapping.start = code.start;
    mapping.end = code.end;
    if (const auto& slot = code.module->slot) {
      mapping.bias = code.bias;
      mapping.first_page = slot->first_page;
      mapping.page_count = slot->page_count;
      mapping.page_base = slot->page_base;
    }
    mappings.push_back(mapping);
  }
  walker_.set_mappings(pid, mappings, process.epoch);
}

bool ProcessTable::apply(const sources::SideBandEvent& event) {
  return std::visit([this](const auto& e) { return on(e); }, event);
}

bool ProcessTable::on(const sources::ProcessForked& event) {
  const auto parent = processes_.find(event.parent_pid);
  if (parent == processes_.end() || !follow_children_) return false;
  const LiveProcess inherited = parent->second;
  LiveProcess& child = add_process(event.pid, event.parent_pid, event.time_ns);
  child.mappings = inherited.mappings;
  child.epoch = inherited.epoch;
  model::Process& row = profile_.processes[child.row.value];
  row.name = profile_.processes[inherited.row.value].name;
  row.executable = profile_.processes[inherited.row.value].executable;
  const auto main_thread = threads_.find(event.parent_pid);
  add_thread(event.pid, event.pid, event.time_ns,
             main_thread == threads_.end() ? "" : main_thread->second.name);
  // The kernel's walker has shared the parent's run of mappings up to now; that run goes when the parent's
  // changes.
  publish(event.pid, child);
  return true;
}

bool ProcessTable::on(const sources::ProcessExeced& event) {
  const auto found = processes_.find(event.pid);
  if (found == processes_.end()) return false;
  LiveProcess& process = found->second;
  process.mappings.clear();
  process.epoch = walker_.epoch_after_exec(event.pid, process.epoch);
  ++process.programs_executed;
  for (const std::int32_t tid : process.threads) {
    if (tid != event.pid) threads_.erase(tid);
  }
  process.threads = {event.pid};
  LiveThread& thread = threads_[event.pid];
  thread.pid = event.pid;
  thread.name = event.name;
  thread.row.reset();  // samples of the new program are not those of the old one
  profile_.processes[process.row.value].name = profile_.strings.intern(event.name);
  return true;
}

bool ProcessTable::on(const sources::ThreadStarted& event) {
  if (!processes_.contains(event.pid)) return false;
  const auto main_thread =
      threads_.find(event.pid);  // a thread starts with its creator's name, mostly the main thread's
  add_thread(event.pid, event.tid, event.time_ns,
             main_thread == threads_.end() ? "" : main_thread->second.name);
  return false;
}

void ProcessTable::end_thread(std::int32_t pid, std::int32_t tid, std::uint64_t time_ns) {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return;
  if (const auto thread = threads_.find(tid); thread != threads_.end() && thread->second.row)
    profile_.threads[thread->second.row->value].end_ns = time_ns;
  process->second.threads.erase(tid);
  ended_threads_.emplace_back(time_ns, tid);
  if (process->second.threads.empty()) {
    process->second.end_ns = time_ns;
    profile_.processes[process->second.row.value].end_ns = time_ns;
  }
}

bool ProcessTable::on(const sources::ThreadEnded& event) {
  end_thread(event.pid, event.tid, event.time_ns);
  return false;
}

bool ProcessTable::on(const sources::ThreadNamed& event) {
  const auto found = threads_.find(event.tid);
  if (found == threads_.end()) return false;
  LiveThread& thread = found->second;
  thread.name = event.name;
  if (thread.row) profile_.threads[thread.row->value].name = profile_.strings.intern(event.name);
  return false;
}

bool ProcessTable::on(const sources::MemoryMapped& event) {
  const auto found = processes_.find(event.pid);
  if (found == processes_.end()) return false;
  const auto mapping = code_mapping(event.pid, event.mapping);
  if (!mapping) return false;
  LiveProcess& process = found->second;
  if (insert_mapping(process, *mapping)) ++process.epoch;
  if (profile_.processes[process.row.value].executable.value == 0 &&
      mapping->module->kind == model::ModuleKind::kFile)
    profile_.processes[process.row.value].executable = profile_.strings.intern(event.mapping.path);
  publish(event.pid, process);
  return true;
}

std::uint32_t ProcessTable::programs_executed(std::int32_t pid) const {
  const auto process = processes_.find(pid);
  return process == processes_.end() ? 0 : process->second.programs_executed;
}

std::vector<std::int32_t> ProcessTable::pids() const {
  std::vector<std::int32_t> pids;
  for (const auto& [pid, process] : processes_) {
    if (process.end_ns == 0) pids.push_back(pid);
  }
  return pids;
}

std::vector<std::int32_t> ProcessTable::threads(std::int32_t pid) const {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return {};
  return {process->second.threads.begin(), process->second.threads.end()};
}

std::span<const CodeMapping> ProcessTable::mappings(std::int32_t pid) const {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return {};
  return process->second.mappings;
}

const CodeMapping* ProcessTable::find(std::int32_t pid, std::uint64_t address) const {
  const auto all = mappings(pid);
  auto after =
      std::upper_bound(all.begin(), all.end(), address,
                       [](std::uint64_t value, const CodeMapping& mapping) { return value < mapping.start; });
  if (after == all.begin()) return nullptr;
  const CodeMapping& mapping = *std::prev(after);
  return address < mapping.end ? &mapping : nullptr;
}

ThreadId ProcessTable::thread_row(std::int32_t pid, std::int32_t tid) {
  LiveThread& thread = threads_[tid];
  if (thread.row && thread.pid == pid) return *thread.row;
  if (thread.pid != pid) {  // never announced, or its number was used again
    thread = {};
    thread.pid = pid;
  }
  if (!processes_.contains(pid)) add_process(pid, 0, 0);
  if (thread.name.empty()) {
    if (auto name = process::read_thread_name(pid, tid)) thread.name = *name;
  }
  model::Thread row;
  row.process = processes_[pid].row;
  row.tid = tid;
  row.name = profile_.strings.intern(thread.name);
  row.start_ns = thread.start_ns;
  thread.row = ThreadId{static_cast<std::uint32_t>(profile_.threads.size())};
  profile_.threads.push_back(row);
  return *thread.row;
}

ThreadId ProcessTable::foreign_thread_row(std::int32_t pid, std::int32_t tid) {
  const auto [process, is_new] = foreign_.try_emplace(pid);
  if (is_new) {
    process->second = ProcessId{static_cast<std::uint32_t>(profile_.processes.size())};
    model::Process row;
    row.pid = pid;
    if (auto info = process::read_process(pid)) row.name = profile_.strings.intern(info->name);
    profile_.processes.push_back(row);
  }
  model::Thread row;
  row.process = process->second;
  row.tid = tid;
  if (auto name = process::read_thread_name(pid, tid)) row.name = profile_.strings.intern(*name);
  profile_.threads.push_back(row);
  return ThreadId{static_cast<std::uint32_t>(profile_.threads.size() - 1)};
}

std::optional<ThreadId> ProcessTable::known_thread_row(std::int32_t tid) const {
  const auto thread = threads_.find(tid);
  return thread == threads_.end() ? std::nullopt : thread->second.row;
}

std::optional<std::int32_t> ProcessTable::pid_of(std::int32_t tid) const {
  const auto thread = threads_.find(tid);
  if (thread == threads_.end()) return std::nullopt;
  return thread->second.pid;
}

void ProcessTable::forget_ended(std::uint64_t before_ns) {
  for (; !ended_threads_.empty() && ended_threads_.front().first < before_ns; ended_threads_.pop_front()) {
    const auto thread = threads_.find(ended_threads_.front().second);
    if (thread != threads_.end() && thread->second.start_ns <= ended_threads_.front().first)
      threads_.erase(thread);
  }
  for (auto process = processes_.begin(); process != processes_.end();) {
    if (process->second.end_ns == 0 || process->second.end_ns >= before_ns) {
      ++process;
      continue;
    }
    walker_.forget(process->first);
    process = processes_.erase(process);
  }
}

}  // namespace fathom::session
