#include "formats/perf_data/tasks.h"

#include <utility>

#include "base/text.h"

namespace fathom::formats {
namespace {

constexpr std::uint64_t kMostCopiedMappings =
    20'000'000;  // that forked children take over, over the whole file

}  // namespace

PerfTasks::Process& PerfTasks::process(std::int32_t pid) {
  std::unique_ptr<Process>& row = processes_[pid];
  if (row == nullptr) row = std::make_unique<Process>();
  return *row;
}

PerfTasks::Thread& PerfTasks::thread(std::int32_t pid, std::int32_t tid) {
  const auto [row, added] = threads_.try_emplace(tid);
  if (added || row->second.pid != pid) row->second = {pid, process(pid).name, 0, {}};
  return row->second;
}

model::ProcessId PerfTasks::row_of(std::int32_t pid, Process& process) {
  if (!process.row) {
    process.row = {static_cast<std::uint32_t>(import_.profile.processes.size())};
    model::Process row;
    row.pid = pid;
    row.parent_pid = process.parent;
    row.start_ns = process.start_ns;
    row.name = import_.builder.string(process.name.empty() ? base_name(process.executable) : process.name);
    row.executable = import_.builder.string(process.executable);
    import_.profile.processes.push_back(row);
  }
  return *process.row;
}

model::ThreadId PerfTasks::row_of(std::int32_t tid, Thread& thread) {
  if (!thread.row) {
    model::Thread row;
    row.process = row_of(thread.pid, process(thread.pid));
    row.tid = tid;
    // The kernel gives task 0 no name of its own in the file; its tools call it so.
    row.name = import_.builder.string(tid == 0 && thread.name.empty() ? "swapper" : thread.name);
    row.start_ns = thread.start_ns;
    thread.row = {static_cast<std::uint32_t>(import_.profile.threads.size())};
    import_.profile.threads.push_back(row);
  }
  return *thread.row;
}

void PerfTasks::take(const PerfName& name) {
  if (name.by_exec) {
    // The memory of the program before is gone; its samples stay with the process.
    const std::unique_ptr<Process> before = std::move(processes_[name.pid]);
    Process& now = process(name.pid);
    if (before != nullptr) {
      now.parent = before->parent;
      now.start_ns = before->start_ns;
      now.row = before->row;
    }
  }
  Thread& row = thread(name.pid, name.tid);
  row.name = name.name;
  if (row.row) import_.profile.threads[row.row->value].name = import_.builder.string(name.name);
  if (name.pid != name.tid) return;
  Process& owner = process(name.pid);
  owner.name = name.name;
  if (owner.row) import_.profile.processes[owner.row->value].name = import_.builder.string(name.name);
}

void PerfTasks::take_fork(const PerfTask& task) {
  const auto creator = threads_.find(task.parent_tid);
  std::string name = creator != threads_.end() ? creator->second.name : "";
  if (task.pid != task.parent_pid) {
    const auto parent = processes_.find(task.parent_pid);
    auto child = std::make_unique<Process>();
    child->parent = task.parent_pid;
    child->start_ns = task.time_ns;
    if (parent != processes_.end()) {
      child->name = parent->second->name;
      child->executable = parent->second->executable;
      copied_ += parent->second->maps.size();
      if (copied_ <= kMostCopiedMappings)
        child->maps.copy_from(parent->second->maps);
      else
        bounded_ = true;
    }
    if (name.empty()) name = child->name;
    processes_[task.pid] = std::move(child);
  }
  threads_[task.tid] = {task.pid, std::move(name), task.time_ns, {}};
}

void PerfTasks::take_exit(const PerfTask& task) {
  const auto ended = threads_.find(task.tid);
  if (ended != threads_.end() && ended->second.row)
    import_.profile.threads[ended->second.row->value].end_ns = task.time_ns;
  const auto owner = processes_.find(task.pid);
  if (task.pid == task.tid && owner != processes_.end() && owner->second->row)
    import_.profile.processes[owner->second->row->value].end_ns = task.time_ns;
}

}  // namespace fathom::formats
