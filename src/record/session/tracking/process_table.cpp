#include "record/session/tracking/process_table.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "linux/process/find.h"
#include "linux/process/status.h"
#include "linux/process/threads.h"
#include "record/session/tracking/moved_text.h"

namespace fathom::session {

using model::ProcessId;
using model::ThreadId;

ProcessTable::ProcessTable(model::Profile& profile, ModuleCatalog& modules, WalkerControl& walker,
                           bool follow_children, const RowLimits& limits)
    : profile_(profile),
      rows_(profile, limits),
      modules_(modules),
      walker_(walker),
      follow_children_(follow_children) {}

ProcessTable::LiveProcess& ProcessTable::add_process(std::int32_t pid, std::int32_t parent_pid,
                                                     std::uint64_t start_ns) {
  // Its number was reused before its previous owner was removed, or that owner's end event was lost.
  if (const auto old = processes_.find(pid); old != processes_.end()) {
    for (const std::int32_t tid : old->second.threads) threads_.erase(tid);
    end_process(old->second, start_ns);
    forget_process(pid, old->second);
  }
  LiveProcess& process = processes_[pid];
  process = {};
  process.parent_pid = parent_pid;
  process.start_ns = start_ns;
  return process;
}

ProcessFacts ProcessTable::facts_of(std::int32_t pid, const LiveProcess& process) const {
  return {pid, process.parent_pid, process.start_ns, process.name, process.executable, process.always_own};
}

const RowBook::ProcessRow& ProcessTable::row_of(std::int32_t pid, LiveProcess& process) {
  if (process.row && !process.row->shared) return *process.row;
  const Life life{age(process.start_ns), process.events};
  if (process.row && !rows_.deserves_own_process(life)) return *process.row;
  process.row = rows_.assign(facts_of(pid, process), life);
  for (const std::int32_t tid : process.threads) {
    if (const auto thread = threads_.find(tid); thread != threads_.end()) thread->second.row.reset();
  }
  return *process.row;
}

void ProcessTable::end_process(LiveProcess& process, std::uint64_t time_ns) {
  if (process.end_ns != 0) return;
  process.end_ns = time_ns;
  if (process.row) rows_.end(*process.row, time_ns);
}

void ProcessTable::forget_process(std::int32_t pid, const LiveProcess& process) {
  if (process.row) rows_.forget(*process.row);
  modules_.forget(pid);
  std::erase_if(tracer_code_, [&](const TracerCode& code) { return code.pid == pid; });
  forgotten_.push_back(pid);
}

void ProcessTable::add_thread(std::int32_t pid, std::int32_t tid, std::uint64_t start_ns, std::string name) {
  LiveThread& thread = threads_[tid];
  thread = {};
  thread.pid = pid;
  thread.name = std::move(name);
  thread.start_ns = start_ns;
  if (const auto process = processes_.find(pid); process != processes_.end())
    process->second.threads.insert(tid);
}

bool ProcessTable::read_from_proc(std::int32_t pid) {
  auto maps = process::read_maps(pid);
  if (maps) name_moved_text(pid, *maps);
  auto threads = process::read_threads(pid);
  now_ns_ = std::max(now_ns_, monotonic_ns());
  if (!threads) end_missing(pid, {});
  if (threads) {
    std::set<std::int32_t> there;
    for (const auto& thread : *threads) there.insert(thread.tid);
    end_missing(pid, there);
  }
  // One that has ended and was not waited for maps nothing any more: what it mapped before still gives its
  // last stacks their names.
  if (!maps || maps->empty() || !threads) return false;
  auto known = processes_.find(pid);
  const bool is_new = known == processes_.end();
  auto info = process::read_process(pid);
  LiveProcess& process = is_new ? add_process(pid, info ? info->parent_pid : 0, 0) : known->second;
  if (is_new) {
    process.always_own = true;
    if (info) {
      process.name = info->name;
      process.executable = info->executable;
    }
    (void)row_of(pid, process);
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

// Ends of threads may be lost like any other record.
void ProcessTable::end_missing(std::int32_t pid, const std::set<std::int32_t>& there) {
  const auto process = processes_.find(pid);
  if (process == processes_.end() || process->second.end_ns != 0) return;
  std::vector<std::int32_t> missing;
  std::ranges::set_difference(process->second.threads, there, std::back_inserter(missing));
  for (const std::int32_t tid : missing) end_thread(pid, tid, now_ns_);
}

void ProcessTable::expect_exec(std::int32_t pid, std::uint64_t time_ns) {
  LiveProcess& process = add_process(pid, 0, time_ns);
  process.always_own = true;
  (void)row_of(pid, process);
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

void ProcessTable::publish(std::int32_t pid, LiveProcess& process) {
  process.mappings_version = ++mappings_version_;
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

std::vector<std::int32_t> ProcessTable::pids_with_own_row() const {
  std::vector<std::int32_t> pids;
  for (const auto& [pid, process] : processes_) {
    if (process.end_ns == 0 && process.row && !process.row->shared) pids.push_back(pid);
  }
  return pids;
}

bool ProcessTable::shares_row(std::int32_t pid) {
  const auto process = processes_.find(pid);
  return process != processes_.end() && row_of(pid, process->second).shared;
}

std::vector<std::int32_t> ProcessTable::threads(std::int32_t pid) const {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return {};
  return {process->second.threads.begin(), process->second.threads.end()};
}

std::uint64_t ProcessTable::mappings_version(std::int32_t pid) const {
  const auto process = processes_.find(pid);
  return process == processes_.end() ? 0 : process->second.mappings_version;
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
  auto found = processes_.find(pid);
  if (found == processes_.end()) found = add_unannounced_process(pid);
  LiveProcess& process = found->second;
  LiveThread& thread = threads_[tid];
  if (thread.pid != pid) {  // never announced, or its number was used again
    thread = {};
    thread.pid = pid;
    thread.start_ns = now_ns_;
    if (auto name = process::read_thread_name(pid, tid)) {
      thread.name = *name;
      process.threads.insert(tid);
    } else {  // it has ended, and no end event will come
      ended_threads_.emplace_back(now_ns_, tid);
    }
  }
  ++process.events;
  ++thread.events;
  const RowBook::ProcessRow process_row = row_of(pid, process);
  const Life life{age(thread.start_ns), thread.events};
  if (thread.row && (!thread.row->shared || process_row.shared || !rows_.deserves_own_thread(life)))
    return thread.row->id;
  if (thread.name.empty()) {
    if (auto name = process::read_thread_name(pid, tid)) thread.name = *name;
  }
  thread.row = rows_.assign(process_row, {tid, thread.start_ns, thread.name}, life);
  return thread.row->id;
}

// Its start event was lost, or it was removed already. In the first case it is in /proc, and its end event
// will come.
std::map<std::int32_t, ProcessTable::LiveProcess>::iterator ProcessTable::add_unannounced_process(
    std::int32_t pid) {
  LiveProcess& process = add_process(pid, 0, now_ns_);
  const auto info = process::read_process(pid);
  const auto threads = process::read_thread_ids(pid);
  if (info && threads) {
    process.parent_pid = info->parent_pid;
    process.name = info->name;
    process.executable = info->executable;
    for (const std::int32_t tid : *threads) {
      if (const auto name = process::read_thread_name(pid, tid); name && !threads_.contains(tid))
        add_thread(pid, tid, now_ns_, *name);
    }
  }
  if (process.threads.empty()) {
    end_process(process, now_ns_);
    ended_processes_.emplace_back(now_ns_, pid);
  }
  return processes_.find(pid);
}

ThreadId ProcessTable::foreign_thread_row(std::int32_t pid, std::int32_t tid) {
  if (const auto known = foreign_threads_.find(tid); known != foreign_threads_.end()) {
    if (known->second.pid == pid) return known->second.row.id;
    forget_foreign(tid);
  }
  const auto [process, is_new] = foreign_.try_emplace(pid);
  if (is_new) {
    const auto info = process::read_process(pid);
    process->second.is_gone = !info;
    process->second.row = rows_.assign(ProcessFacts{pid, info ? info->parent_pid : 0, 0,
                                                    info ? std::string_view(info->name) : "", "", false},
                                       Life());
  }
  const auto name = process::read_thread_name(pid, tid);
  ForeignThread& thread = foreign_threads_[tid];
  thread.pid = pid;
  thread.row = rows_.assign(process->second.row, {tid, 0, name ? std::string_view(*name) : ""}, Life());
  ++process->second.threads;
  if (!name) {  // it has ended, and that was reported before
    thread.end_ns = now_ns_;
    ended_foreign_.emplace_back(now_ns_, tid);
  }
  return thread.row.id;
}

void ProcessTable::forget_foreign(std::int32_t tid) {
  const auto thread = foreign_threads_.find(tid);
  if (thread == foreign_threads_.end()) return;
  const auto process = foreign_.find(thread->second.pid);
  foreign_threads_.erase(thread);
  if (process == foreign_.end() || --process->second.threads != 0 || !process->second.is_gone) return;
  forget_foreign_process(process);
}

void ProcessTable::forget_foreign_process(
    std::unordered_map<std::int32_t, ForeignProcess>::iterator process) {
  rows_.forget(process->second.row);
  foreign_.erase(process);
}

ProcessTable::Unwalked ProcessTable::book_times(const sources::ThreadWaitTime& times) {
  auto found = threads_.find(times.tid);
  if (found == threads_.end() || found->second.pid != times.pid || !found->second.row) {
    if (times.waited_ns + times.queued_ns == 0 || !is_recorded(times.pid)) return {};
    (void)thread_row(times.pid, times.tid);
    found = threads_.find(times.tid);
  }
  LiveThread& thread = found->second;
  model::Thread& row = rows_.change(thread.row->id);
  const sources::ThreadWaitTime& before = thread.booked;
  row.ran_ns += times.ran_ns - before.ran_ns;
  row.waited_ns += times.waited_ns - before.waited_ns;
  row.queued_ns += times.queued_ns - before.queued_ns;
  row.waits += times.waits - before.waits;
  row.preemptions += times.preemptions - before.preemptions;
  const Unwalked unwalked{times.unwalked_waits - before.unwalked_waits,
                          times.unwalked_ns - before.unwalked_ns};
  row.unwalked_waits += unwalked.waits;
  row.unwalked_ns += unwalked.ns;
  thread.booked = times;
  return unwalked;
}

void ProcessTable::book_cpu(std::int32_t tid, std::uint64_t cpu_ns) {
  const auto thread = threads_.find(tid);
  if (thread == threads_.end() || !thread->second.row || thread->second.booked_cpu_ns == cpu_ns) return;
  rows_.change(thread->second.row->id).cpu_ns += cpu_ns - thread->second.booked_cpu_ns;
  thread->second.booked_cpu_ns = cpu_ns;
}

std::optional<std::int32_t> ProcessTable::pid_of(std::int32_t tid) const {
  const auto thread = threads_.find(tid);
  if (thread == threads_.end()) return std::nullopt;
  return thread->second.pid;
}

void ProcessTable::walked_thread_ended(std::int32_t pid, std::int32_t tid, std::uint64_t time_ns) {
  if (pid == tid && !processes_.contains(pid)) ended_unannounced_.emplace_back(time_ns, pid);
}

void ProcessTable::forget_ended(std::uint64_t before_ns) {
  for (; !ended_threads_.empty() && ended_threads_.front().first < before_ns; ended_threads_.pop_front()) {
    const auto thread = threads_.find(ended_threads_.front().second);
    if (thread != threads_.end() && thread->second.start_ns <= ended_threads_.front().first)
      threads_.erase(thread);
  }
  for (; !ended_foreign_.empty() && ended_foreign_.front().first < before_ns; ended_foreign_.pop_front()) {
    const auto [end_ns, tid] = ended_foreign_.front();
    const auto thread = foreign_threads_.find(tid);
    if (thread != foreign_threads_.end() && thread->second.end_ns == end_ns) forget_foreign(tid);
  }
  for (; !ended_processes_.empty() && ended_processes_.front().first < before_ns;
       ended_processes_.pop_front()) {
    const auto [end_ns, pid] = ended_processes_.front();
    const auto process = processes_.find(pid);
    if (process == processes_.end() || process->second.end_ns != end_ns) continue;  // used again meanwhile
    walker_.forget(pid);
    forget_process(pid, process->second);
    processes_.erase(process);
  }
  for (; !ended_unannounced_.empty() && ended_unannounced_.front().first < before_ns;
       ended_unannounced_.pop_front()) {
    const std::int32_t pid = ended_unannounced_.front().second;
    if (!processes_.contains(pid))
      walker_.forget(pid);  // otherwise it was found, or its number is used again
  }
}

std::size_t ProcessTable::remembered() const {
  return processes_.size() + threads_.size() + foreign_.size() + foreign_threads_.size() +
         tracer_code_.size() + ended_threads_.size() + ended_processes_.size() + ended_foreign_.size() +
         ended_unannounced_.size() + forgotten_.size() + rows_.remembered();
}

}  // namespace fathom::session
