// One group of event programs, and what user space does with it. The engine (bpf_engine.h) loads the programs of the parts that a
// recording wants; of a part that is not there, nothing is in the kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"

struct bpf_link;
struct bpf_map;
struct bpf_program;
struct fathom_bpf;

namespace fathom::sources {

// A program at its place in the kernel, until this is destroyed.
struct DestroyLink {
  void operator()(bpf_link* link) const;
};
using BpfLink = std::unique_ptr<bpf_link, DestroyLink>;

// At the place that the program itself names.
Result<BpfLink> attach_program(bpf_program* program);

class BpfPart {
 public:
  virtual ~BpfPart() = default;
  // Before loading: its programs will load, and its maps get their sizes. Again for each attempt to load; `skeleton` is valid until
  // the next one, and the last one outlives the part's use.
  virtual void configure(fathom_bpf& skeleton) = 0;
  // Attaches its programs that run for the whole machine. Probes have none: they attach one by one.
  virtual Result<> attach() { return {}; }
  // Its events of one CPU. `output_fd`: the event whose ring takes the records of a throttled timer; -1: none.
  virtual Result<> add_cpu(int /*cpu*/, int /*output_fd*/) { return {}; }
  virtual void remove_cpu(int /*cpu*/) {}
  // From here on it counts nothing. What it has counted can still be read.
  virtual void detach() {}
  // After detach(): takes out of the kernel what needs long for that.
  virtual void release() {}
  virtual void forget(std::int32_t /*pid*/) {}
  // Of its maps, beyond those of the engine.
  virtual std::uint64_t kernel_memory_bytes() const { return 0; }
};

// Of a map with one element and a value for each CPU: a value for each possible CPU, not for the online ones, because that is
// what the kernel copies. Empty: it cannot be read.
bool read_values_of_cpus(const bpf_map* map, void* values);
std::size_t possible_cpus();
template <class Value>
std::vector<Value> values_of_cpus(const bpf_map* map) {
  std::vector<Value> values(possible_cpus());
  if (!read_values_of_cpus(map, values.data())) values.clear();
  return values;
}

}  // namespace fathom::sources
