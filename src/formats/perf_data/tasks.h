// The processes and threads of a perf.data file while it is read in order of time: their names, their memory, and their rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "formats/import/import.h"
#include "formats/perf_data/code_maps.h"
#include "formats/perf_data/records.h"

namespace fathom::formats {

class PerfTasks {
 public:
  struct Process {
    std::int32_t parent = 0;
    std::string name;
    std::string_view executable;  // of the first file that it mapped
    std::uint64_t start_ns = 0;
    CodeMaps maps;
    std::optional<model::ProcessId> row;
  };
  struct Thread {
    std::int32_t pid = 0;
    std::string name;
    std::uint64_t start_ns = 0;
    std::optional<model::ThreadId> row;
  };

  explicit PerfTasks(Import& import) : import_(import) {}  // `import` outlives it

  Process& process(std::int32_t pid);
  Thread& thread(std::int32_t pid, std::int32_t tid);
  model::ProcessId row_of(std::int32_t pid, Process& process);
  model::ThreadId row_of(std::int32_t tid, Thread& thread);

  void take(const PerfName& name);
  void take_fork(const PerfTask& task);
  void take_exit(const PerfTask& task);
  // Children took over more mappings than are followed.
  bool is_bounded() const { return bounded_; }

 private:
  Import& import_;
  std::unordered_map<std::int32_t, std::unique_ptr<Process>> processes_;
  std::unordered_map<std::int32_t, Thread> threads_;
  std::uint64_t copied_ = 0;  // mappings
  bool bounded_ = false;
};

}  // namespace fathom::formats
