#include "analysis/summary/system_call_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/stable_sort.h"
#include "model/system_call_rows.h"

namespace fathom::analysis {
namespace {

constexpr std::size_t kMostCallers = 32;

// Numbers of a broken file may be any.
std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) {
  return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

void add_row(SystemCallSums& sums, const model::Calls& row) {
  sums.calls = sum_of(sums.calls, row.calls);
  sums.errors = sum_of(sums.errors, row.calls - std::min(row.calls, row.sized));
  sums.total_ns = sum_of(sums.total_ns, row.total_ns);
  sums.longest_ns = std::max(sums.longest_ns, row.longest_ns);
  sums.bytes = sum_of(sums.bytes, row.bytes);
}

bool takes_longer(const SystemCallSums& a, const SystemCallSums& b) {
  return std::pair(a.total_ns, a.calls) > std::pair(b.total_ns, b.calls);
}

// Calls into the kernel that put bytes somewhere: "write", "pwritev2", "sendto". All others that move bytes read them.
bool writes(std::string_view call) {
  return call.find("write") != call.npos || call.starts_with("send");
}

class SystemCallMaking {
 public:
  SystemCallMaking(const model::Profile& profile, const Selection& selection)
      : profile_(profile), selection_(selection), filter_(profile, selection) {}

  SystemCallTable run() {
    for (const model::Calls& row : profile_.calls) {
      const model::CallsKind kind = model::kind_of(profile_, row);
      if (kind == model::CallsKind::kProbed || !filter_.takes_time(row.time_ns) ||
          (selection_.pid && profile_.processes[row.process.value].pid != *selection_.pid))
        continue;
      if (kind == model::CallsKind::kFile)
        book_file(row);
      else if (takes_thread(row) && filter_.takes_stack(row.stack))
        book_call(row);
    }
    return table();
  }

 private:
  struct Call {
    SystemCallOfAll made;
    std::map<std::uint32_t, SystemCallsFromPath> paths;  // by stack
  };
  struct OfThread {
    ThreadSystemCalls made;
    std::map<std::string, SystemCallSums> calls;
  };

  std::string_view path_of(const model::Calls& row) const {
    const model::ModuleId module = profile_.functions[row.function.value].module;
    return profile_.strings[profile_.modules[module.value].path];
  }
  std::string name_of(const model::Calls& row) const {
    return std::string(profile_.strings[profile_.functions[row.function.value].name]);
  }

  // "TID NAME" against a number or an exact name.
  bool takes_thread(const model::Calls& row) const {
    if (!selection_.thread) return true;
    const std::string_view thread = path_of(row);
    const std::size_t blank = thread.find(' ');
    return blank != thread.npos &&
           (thread.substr(0, blank) == *selection_.thread || thread.substr(blank + 1) == *selection_.thread);
  }

  void book_call(const model::Calls& row) {
    const std::string name = name_of(row);
    Call& call = calls_[name];
    call.made.name = name;
    add_row(call.made.sums, row);
    if (row.stack.value != 0) {
      call.made.walked = sum_of(call.made.walked, row.calls);
      SystemCallsFromPath& path = call.paths[row.stack.value];
      if (path.path.empty()) path.path = callers_of(row.stack);
      add_row(path.sums, row);
    }
    const std::int32_t pid = profile_.processes[row.process.value].pid;
    OfThread& thread = threads_[{pid, std::string(path_of(row))}];
    thread.made.thread = path_of(row);
    thread.made.pid = pid;
    add_row(thread.made.sums, row);
    add_row(thread.calls[name], row);
  }

  void book_file(const model::Calls& row) {
    FileBytes& file = files_[name_of(row)];
    file.path = name_of(row);
    add_row(writes(path_of(row)) ? file.written : file.read, row);
  }

  std::vector<std::string> callers_of(model::StackId at) const {
    std::vector<std::string> path;
    for (; at.value != 0 && path.size() < kMostCallers; at = profile_.stacks[at.value].parent) {
      const model::Frame& frame = profile_.frames[profile_.stacks[at.value].frame.value];
      if (frame.line_count == 0) path.push_back(profile_.pseudo_name(frame));
      for (std::uint32_t i = 0; i < frame.line_count && path.size() < kMostCallers; ++i)
        path.emplace_back(
            profile_.strings[profile_.functions[profile_.lines[frame.first_line + i].function.value].name]);
    }
    return path;
  }

  SystemCallTable table() {
    SystemCallTable table;
    for (auto& [name, call] : calls_) {
      for (auto& [stack, path] : call.paths) call.made.paths.push_back(std::move(path));
      stable_sort_rows(call.made.paths, takes_longer, &SystemCallsFromPath::sums);
      table.calls.push_back(std::move(call.made));
    }
    for (auto& [key, thread] : threads_) {
      for (auto& [name, sums] : thread.calls) thread.made.calls.push_back({name, sums});
      stable_sort_rows(thread.made.calls, takes_longer, &SystemCallOfThread::sums);
      table.threads.push_back(std::move(thread.made));
    }
    for (auto& [name, file] : files_) table.files.push_back(std::move(file));
    stable_sort_rows(table.calls, takes_longer, &SystemCallOfAll::sums);
    stable_sort_rows(table.threads, takes_longer, &ThreadSystemCalls::sums);
    stable_sort_rows(table.files, std::ranges::greater(), [](const FileBytes& file) {
      return std::pair(sum_of(file.read.bytes, file.written.bytes), file.read.calls + file.written.calls);
    });
    return table;
  }

  const model::Profile& profile_;
  const Selection& selection_;
  Filter filter_;
  std::map<std::string, Call> calls_;
  std::map<std::pair<std::int32_t, std::string>, OfThread> threads_;
  std::map<std::string, FileBytes> files_;
};

}  // namespace

std::optional<SystemCallTable> make_system_call_table(const model::Profile& profile,
                                                      const Selection& selection) {
  if (!profile.meta.facts.contains(model::kSystemCallsFact)) return std::nullopt;
  return SystemCallMaking(profile, selection).run();
}

}  // namespace fathom::analysis
