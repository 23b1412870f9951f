// The processes of one name, asked for again and again. Reading all processes costs some ten milliseconds on a busy machine, so of
// those that are known to have another name only the number is looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fathom::serve {

// Not for one that has ended and waits for its parent, or is about to end: there is nothing left of it to record.
bool still_runs(int pid);

class NamedProcesses {
 public:
  struct Machine {  // for tests
    std::function<std::vector<int>()> pids;
    std::function<bool(int pid, const std::string& name)> is_named;
  };
  explicit NamedProcesses(std::string name);
  NamedProcesses(std::string name, Machine machine) : name_(std::move(name)), machine_(std::move(machine)) {}

  // Ascending. A process has three seconds to execute the program that has the name; one that takes the name later is found within ten
  // seconds.
  std::vector<std::int32_t> find(std::uint64_t now_ns);

 private:
  std::string name_;
  Machine machine_;
  std::map<int, std::uint64_t> others_;  // since when they are known
  std::uint64_t all_ns_ = 0;             // when all were looked at
};

}  // namespace fathom::serve
