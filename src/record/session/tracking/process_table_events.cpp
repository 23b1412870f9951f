// What each side-band event changes in the table of processes: forks, programs, threads, names and mappings.
#include <algorithm>
#include <utility>

#include "record/session/tracking/process_table.h"

namespace fathom::session {

bool ProcessTable::apply(const sources::SideBandEvent& event) {
  now_ns_ = std::max(now_ns_, sources::time_of(event));
  return std::visit([this](const auto& e) { return on(e); }, event);
}

bool ProcessTable::on(const sources::ProcessForked& event) {
  forget_foreign(event.pid);
  if (const auto old = foreign_.find(event.pid); old != foreign_.end()) forget_foreign_process(old);
  const auto parent = processes_.find(event.parent_pid);
  if (parent == processes_.end() || !follow_children_) return false;
  const LiveProcess& inherited = parent->second;
  std::string name = inherited.name, executable = inherited.executable;
  auto mappings = inherited.mappings;
  const std::uint32_t epoch = inherited.epoch;
  LiveProcess& child = add_process(event.pid, event.parent_pid, event.time_ns);
  child.mappings = std::move(mappings);
  child.epoch = epoch;
  child.name = std::move(name);
  child.executable = std::move(executable);
  const auto main_thread = threads_.find(event.parent_pid);
  add_thread(event.pid, event.pid, event.time_ns,
             main_thread == threads_.end() ? "" : main_thread->second.name);
  // The kernel's walker has shared the parent's run of mappings up to now; that run goes when the parent's
  // changes.
  publish(event.pid, child);
  return true;
}

bool ProcessTable::on(const sources::ProcessExeced& event) {
  forget_foreign(event.pid);
  const auto found = processes_.find(event.pid);
  if (found == processes_.end()) return false;
  LiveProcess& process = found->second;
  process.mappings.clear();
  process.mappings_version = ++mappings_version_;
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
  thread.events = process.events = 0;
  process.name = event.name;
  process.executable.clear();  // the first file that is mapped
  if (process.row &&
      (process.row->shared || !rows_.executes(*process.row, facts_of(event.pid, process), event.time_ns)))
    process.row.reset();
  return true;
}

bool ProcessTable::on(const sources::ThreadStarted& event) {
  forget_foreign(event.tid);
  if (!processes_.contains(event.pid)) return false;
  const auto main_thread =
      threads_.find(event.pid);  // a thread starts with its creator's name, mostly the main thread's
  add_thread(event.pid, event.tid, event.time_ns,
             main_thread == threads_.end() ? "" : main_thread->second.name);
  return false;
}

void ProcessTable::end_thread(std::int32_t pid, std::int32_t tid, std::uint64_t time_ns) {
  if (const auto foreign = foreign_threads_.find(tid); foreign != foreign_threads_.end()) {
    foreign->second.end_ns = time_ns;
    ended_foreign_.emplace_back(time_ns, tid);
  }
  if (const auto foreign = foreign_.find(tid); foreign != foreign_.end()) {
    foreign->second.is_gone = true;
    if (foreign->second.threads == 0) forget_foreign_process(foreign);
  }
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return;
  if (const auto thread = threads_.find(tid); thread != threads_.end() && thread->second.row)
    rows_.end(*thread->second.row, time_ns);
  process->second.threads.erase(tid);
  ended_threads_.emplace_back(time_ns, tid);
  if (process->second.threads.empty() && process->second.end_ns == 0) {
    end_process(process->second, time_ns);
    ended_processes_.emplace_back(time_ns, pid);
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
  if (thread.row && thread.row->shared) thread.row.reset();  // those of the new name share another one
  if (thread.row) rows_.rename(*thread.row, event.name);
  return false;
}

bool ProcessTable::on(const sources::MemoryMapped& event) {
  const auto found = processes_.find(event.pid);
  if (found == processes_.end()) return false;
  const auto mapping = code_mapping(event.pid, event.mapping);
  if (!mapping) return false;
  LiveProcess& process = found->second;
  if (insert_mapping(process, *mapping)) ++process.epoch;
  if (process.executable.empty() && mapping->module->kind == model::ModuleKind::kFile) {
    process.executable = event.mapping.path;
    if (process.row) rows_.set_executable(*process.row, process.executable);
  }
  publish(event.pid, process);
  return true;
}

}  // namespace fathom::session
