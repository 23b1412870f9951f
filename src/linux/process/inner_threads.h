// Threads of a process by the numbers that they have in its own pid namespace: what a process writes about itself
// when it runs in a container. Source: pid_namespaces(7), NSpid in /proc/PID/task/TID/status.
//
// A look lists the threads, and reads one file for each that is new: looking a number up reads nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace fathom::process {

class InnerThreads {
 public:
  // Where the numbers come from; a test stands in here.
  struct Proc {
    std::function<std::optional<std::vector<std::int32_t>>()> threads;  // nullopt: the process is gone
    std::function<std::optional<std::int32_t>(std::int32_t tid)> inner_number;  // nullopt: the thread is gone
  };

  explicit InnerThreads(std::int32_t pid);
  explicit InnerThreads(Proc proc) : proc_(std::move(proc)) {}

  // Finds the threads that were born since the last look, and forgets those that ended.
  void refresh();
  // The number that we know the thread by; nullopt: it was not there at the last look.
  std::optional<std::int32_t> outer(std::int32_t inner_tid) const;

 private:
  Proc proc_;
  std::unordered_map<std::int32_t, std::int32_t> inner_, outer_;  // by the other one
};

}  // namespace fathom::process
