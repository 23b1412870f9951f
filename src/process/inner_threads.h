// Threads of a process by the numbers that they have in its own pid namespace: what a process says of itself
// when it runs in a container. Source: pid_namespaces(7), NSpid in /proc/PID/task/TID/status.
#pragma once

#include <cstdint>
#include <optional>

namespace fathom::process {

class InnerThreads {
 public:
  explicit InnerThreads(std::int32_t pid);

  // The number that we know the thread by; nullopt: it is gone. Looks at every thread where the namespace is
  // not ours.
  std::optional<std::int32_t> outer(std::int32_t inner_tid) const;

 private:
  std::int32_t pid_;
  bool ours_;
};

}  // namespace fathom::process
