// Events of single CPUs that run a program, each with its link to it.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "record/bpf/part.h"

namespace fathom::sources {

class CpuEvents {
 public:
  // For all processes of this CPU. `what` names the event in errors. `output_fd` as BpfPart::add_cpu() has it.
  // `cookie`: what the program learns of the event; before Linux 5.15 only 0 works.
  Result<> add(int cpu, const perf_event_attr& attributes, const bpf_program* program,
               const std::string& what, int output_fd, std::uint64_t cookie = 0);
  // Of events that run: a new period, or a new rate of those that have one. False: the kernel took it for none of them.
  bool set_period(std::uint64_t period);
  void remove(int cpu) { events_.erase(cpu); }
  void clear() { events_.clear(); }

 private:
  struct Linked {
    Fd event;
    BpfLink link;  // goes before its event
  };
  std::map<int, std::vector<Linked>> events_;  // by CPU
};

}  // namespace fathom::sources
