// Where events come from: one engine with its side band, behind one face. There are three: the BPF engine, which
// walks stacks in the kernel, the perf engine, which copies stacks and needs no privileges, and the proc engine, which
// looks at what waits where neither is allowed. What not every engine can do is an interface of its own, which is null
// if this engine cannot do it here: sampling, waits, probes of functions, probes of the heap, and holding execs.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/events.h"
#include "record/bpf/function_probes.h"
#include "record/bpf/heap_probes.h"
#include "record/bpf/kernel_events.h"
#include "record/bpf/system_calls.h"
#include "record/session/record_options.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

struct Batch {
  std::vector<sources::Event> samples;  // StackSeen, StackSample, CopiedStackSample, ThreadCpuTime, Lost
  std::vector<sources::SideBandEvent> side_band;  // in time order; covers at least the time of the samples
};

// Processes whose CPU time promises no samples.
struct Unsampled {
  std::set<std::int32_t> pids;
  std::string why;     // "the kernel does not let ..."; empty: all could be sampled
  std::string remedy;  // what lets this user sample them
};

// Samples of CPU time.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // Processes that this user may not sample.
  virtual Unsampled unsampled() const = 0;
};

// Where threads wait. The waits themselves are events; this has what is in progress when the recording begins and ends.
class ThreadWaits {
 public:
  virtual ~ThreadWaits() = default;
  // Enters the threads that run or wait already: their time counts from `now_ns` on.
  virtual void enter(std::int32_t pid, std::uint64_t now_ns, std::vector<sources::Event>& out) = 0;
  // The sums of the live threads so far.
  virtual void sum(std::uint64_t now_ns, std::vector<sources::Event>& out) const = 0;
  // The waits that are in progress, cut at `end_ns`, and the sums of every live thread. They go on, unless stop() came before.
  virtual void finish(std::uint64_t end_ns, std::vector<sources::Event>& out) = 0;
};

// Stops a process at each program that it executes, before its first instruction.
class ExecHolder {
 public:
  virtual ~ExecHolder() = default;
  // From now on this process gets a SIGSTOP there; 0: no process does. The caller must check held() often and resume the process.
  virtual void hold(std::int32_t pid) = 0;
  virtual std::uint64_t held() const = 0;  // how often one was
};

class Source : public WalkerControl {
 public:
  virtual std::string_view name() const = 0;
  // Empty: tables stay in the modules, for a walk in user space.
  virtual ModuleCatalog::PlaceTable place_table() = 0;
  // The table that set_mappings() refers to; set before anything else, and outlives the source's use.
  virtual void set_processes(const ProcessTable& processes) = 0;
  // Does and undoes what start() will need rights for: an error here is the error that start() would give. The targets
  // run, or are held before their exec.
  virtual Result<> rehearse(const std::vector<std::int32_t>& pids) = 0;
  // A child of ours will become the target with its next exec. Before start().
  virtual Result<> expect_exec(std::int32_t pid) = 0;
  // Called after the targets are known and before the first event is wanted.
  virtual Result<> start(const std::vector<std::int32_t>& pids) = 0;
  // Whether processes may be added after the start, by publishing their mappings.
  virtual bool takes_more() const = 0;
  // Samples at this rate from now on; false: the rate stays as it was.
  virtual bool set_frequency(std::uint32_t /*frequency_hz*/) { return false; }
  // From here on nothing is recorded.
  virtual void stop() = 0;
  // After stop(): takes out of the kernel what needs long for that, when the recorded time is over.
  virtual void release() {}
  // For epoll, once started.
  virtual std::vector<int> fds() const = 0;
  virtual Result<> drain(Batch& batch) = 0;
  // Sentences for the quality block: what this engine cannot see here.
  virtual std::vector<std::string> notes() const = 0;
  // Adds what the engine itself has counted.
  virtual void count(model::Quality& quality) const = 0;

  // Once started. Null: this engine cannot do it, or this recording does not want it.
  virtual Sampler* sampler() { return nullptr; }
  virtual ThreadWaits* waits() { return nullptr; }
  virtual sources::FunctionProbes* function_probes() { return nullptr; }
  virtual sources::HeapProbes* heap_probes() { return nullptr; }
  virtual sources::KernelEvents* kernel_events() { return nullptr; }
  virtual sources::SystemCalls* system_calls() { return nullptr; }
  virtual ExecHolder* exec_holder() { return nullptr; }
};

// Without a sampler no process is sampled.
Unsampled unsampled_by(Source& source, const ProcessTable& processes);

// Modules keep their unwind tables, so that stacks can be walked in user space, too.
bool keeps_tables(const RecordOptions& options);

Result<std::unique_ptr<Source>> open_bpf_source(const RecordOptions& options);
Result<std::unique_ptr<Source>> open_perf_source(const RecordOptions& options);
// For waits only.
Result<std::unique_ptr<Source>> open_proc_source(const RecordOptions& options);

}  // namespace fathom::session
