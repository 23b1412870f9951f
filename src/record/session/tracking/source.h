// Where samples come from: one engine with its side band, behind one face. Three stand: the BPF engine, which
// walks stacks in the kernel, the perf engine, which copies stacks and needs no privileges, and the proc engine, which
// looks at what waits where neither is allowed.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/events.h"
#include "record/bpf/bpf_engine.h"
#include "record/session/record_options.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

struct Batch {
  std::vector<sources::Event> samples;  // StackSeen, StackSample, CopiedStackSample, ThreadCpuTime, Lost
  std::vector<sources::SideBandEvent> side_band;  // in time order; covers at least the time of the samples
};

class Source : public WalkerControl {
 public:
  virtual std::string_view name() const = 0;
  // Empty: tables stay in the modules, for a walk in user space.
  virtual ModuleCatalog::PlaceTable place_table() = 0;
  // The table that set_mappings() refers to; set before anything else, and outlives the source's use.
  virtual void set_processes(const ProcessTable&) {}
  // Does and undoes what start() will need rights for: an error here is the error that start() would give. The targets
  // run, or are held before their exec.
  virtual Result<> rehearse(const std::vector<std::int32_t>& /*pids*/) { return {}; }
  // Called after the targets are known and before the first event is wanted.
  virtual Result<> start(const std::vector<std::int32_t>& pids) = 0;
  // A child of ours will become the target with its next exec.
  virtual Result<> expect_exec(std::int32_t pid) = 0;
  // As BpfEngine::hold_execs; false: this engine cannot.
  virtual bool hold_execs(std::int32_t /*pid*/) { return false; }
  virtual std::uint64_t execs_held() const { return 0; }
  // Whether processes may be added after the start, by publishing their mappings.
  virtual bool takes_more() const { return false; }
  // Enters the threads that run or wait already: their time counts from `now_ns` on.
  virtual void enter_threads(std::int32_t /*pid*/, std::uint64_t /*now_ns*/, Batch& /*batch*/) {}
  // After stop(): the waits that are in progress, cut at `end_ns`, and the sums of every live thread.
  virtual void cut_waits(std::uint64_t /*end_ns*/, Batch& /*batch*/) {}
  // The sums of the live threads so far.
  virtual void sum_threads(std::uint64_t /*now_ns*/, Batch& /*batch*/) {}
  // Calls of functions: once started, as BpfEngine has it. Only the BPF engine can.
  virtual Result<> add_probe(const probe_wanted&, const std::vector<sources::ProbePoint>&) {
    return fail(ErrorKind::kUnsupported, "only engine bpf can probe functions", "run as root; fathom doctor");
  }
  virtual std::vector<sources::ProbeReading> read_probes() const { return {}; }
  virtual probe_counters probe_sums() const { return {}; }
  // A process's own probes of its heap, as BpfEngine has it. Only the BPF engine can.
  virtual Result<> add_heap_probes(std::int32_t, const std::vector<sources::HeapProbePoint>&) {
    return fail(ErrorKind::kUnsupported, "only engine bpf can read them", "run as root; fathom doctor");
  }
  virtual void remove_heap_probes(std::int32_t /*pid*/) {}
  virtual heap_probe_counters heap_probe_sums(std::int32_t /*pid*/) const { return {}; }
  virtual void stop() = 0;
  // For epoll, once started.
  virtual std::vector<int> fds() const = 0;
  virtual Result<> drain(Batch& batch) = 0;
  // Walks a stack that was copied; only the perf engine delivers such.
  virtual void walk(const sources::CopiedStackSample&, sources::StackSeen&, sources::StackSample&) {}
  // Processes that this user may not sample: their CPU time promises no samples.
  virtual std::set<std::int32_t> unsampled() const { return {}; }
  // Why nothing, or not all, could be sampled: "the kernel does not let ..."; empty: all could.
  virtual std::string why_not_sampled() const { return {}; }
  // What lets this user sample them.
  virtual std::string sampling_remedy() const { return {}; }
  // Walks a stack that the walk in the kernel could not, with the mappings of that time: fills in user frames and end. Only the
  // bpf engine delivers such.
  virtual void walk(const sources::StackCopied&, sources::StackSeen&) {}
  // Sentences for the quality block: what this engine cannot see here.
  virtual std::vector<std::string> notes() const { return {}; }
  // Adds what the engine itself has counted.
  virtual void count(model::Quality& quality) const = 0;
};

// Modules keep their unwind tables, so that stacks can be walked in user space, too.
bool keeps_tables(const RecordOptions& options);

Result<std::unique_ptr<Source>> open_bpf_source(const RecordOptions& options);
Result<std::unique_ptr<Source>> open_perf_source(const RecordOptions& options);
// For waits only.
Result<std::unique_ptr<Source>> open_proc_source(const RecordOptions& options);

}  // namespace fathom::session
