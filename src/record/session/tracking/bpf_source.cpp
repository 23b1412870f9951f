// The BPF engine and the side band of the whole machine.
#include <fmt/format.h>

#include <algorithm>

#include "base/arch/call_numbers.h"
#include "base/clock.h"
#include "linux/perf/event.h"
#include "linux/perf/side_band.h"
#include "linux/process/status.h"
#include "record/bpf/bpf_engine.h"
#include "record/parking/lock_keys.h"
#include "record/session/tracking/copied_stack_walker.h"
#include "record/session/tracking/cpu_follower.h"
#include "record/session/tracking/source.h"
#include "record/session/waits/blocked_walk.h"

namespace fathom::session {
namespace {

class BpfSource final : public Source {
 public:
  BpfSource(std::unique_ptr<sources::BpfEngine> engine, sources::SideBand side_band)
      : engine_(std::move(engine)), side_band_(std::move(side_band)) {}

  std::string_view name() const override { return "bpf"; }

  ModuleCatalog::PlaceTable place_table() override {
    return [this](const unwind::Table& table) -> std::optional<sources::TableSlot> {
      return engine_->tables().add(table.rows, table.pages, table.rules, table.page_base);
    };
  }

  Result<> rehearse(const std::vector<std::int32_t>&) override {
    if (auto rehearsed = engine_->rehearse(); !rehearsed) return rehearsed;
    return sources::SideBand::rehearse();
  }

  Result<> start(const std::vector<std::int32_t>&) override {
    cpus_.begin(monotonic_ns());
    return engine_->start([this](int cpu) { return side_band_.output_fd(cpu); });
  }

  bool takes_more() const override { return true; }

  Result<> expect_exec(std::int32_t pid) override {
    engine_->track_from_exec(pid);
    return {};
  }

  bool hold_execs(std::int32_t pid) override {
    engine_->hold_execs(pid);
    return true;
  }
  std::uint64_t execs_held() const override { return engine_->execs_held(); }

  void set_processes(const ProcessTable& processes) override { processes_ = &processes; }

  // A thread that could run is booked as running: which of the two it was shows at its next switch. One that
  // waits gets the stack that it has now, walked from outside.
  void enter_threads(std::int32_t pid, std::uint64_t now_ns, Batch& batch) override {
    BlockedWalker walker(*processes_);
    for (const std::int32_t tid : processes_->threads(pid)) {
      thread_account account{};
      account.pid = static_cast<std::uint32_t>(pid);
      const auto stat = process::read_thread_stat(pid, tid);
      if (!stat) continue;
      if (stat->state == 'R') {
        account.in_ns = now_ns;
        engine_->enter_thread(tid, account);
        continue;
      }
      account.out_ns = now_ns;
      account.state = stat->state == 'D' ? 2 : stat->state == 'T' ? 4 : 1;
      account.system_call = -1;
      if (auto blocked = walker.walk(pid, tid, now_ns)) {
        account.stack_id = blocked->wait.stack_id;
        account.weight = 1;
        account.system_call = blocked->wait.system_call;
        std::copy(std::begin(blocked->wait.arguments), std::end(blocked->wait.arguments), account.arguments);
        account.inode = blocked->wait.inode;
        account.device = blocked->wait.device;
        account.file_mode = blocked->wait.file_mode;
        batch.samples.emplace_back(std::move(blocked->stack));
      }
      engine_->enter_thread(tid, account);
    }
  }

  void sum_threads(std::uint64_t now_ns, Batch& batch) override {
    for_each_account([&](std::int32_t tid, const thread_account& account) {
      sources::ThreadWaitTime times;
      times.time_ns = now_ns;
      times.pid = static_cast<std::int32_t>(account.pid);
      times.tid = tid;
      times.ran_ns = account.ran_ns;
      times.waited_ns = account.waited_ns;
      times.queued_ns = account.queued_ns;
      times.waits = account.waits;
      times.preemptions = account.preemptions;
      times.unwalked_waits = account.unwalked_waits;
      times.unwalked_ns = account.unwalked_ns;
      if (account.in_ns != 0 && account.in_ns < now_ns) times.ran_ns += now_ns - account.in_ns;
      if (account.out_ns != 0 && account.out_ns < now_ns) {
        const Split split = split_wait(account, now_ns);
        times.waited_ns += split.waited_ns;
        times.queued_ns += split.queued_ns;
        (account.state == 0 ? times.queued_ns : times.waited_ns) += account.walk_ns;
        (account.state == 0 ? times.preemptions : times.waits) += 1;
        if (account.stack_id == 0) {
          ++times.unwalked_waits;
          times.unwalked_ns += split.waited_ns + split.queued_ns;
        }
      }
      batch.samples.emplace_back(times);
    });
  }

  void cut_waits(std::uint64_t end_ns, Batch& batch) override {
    for_each_account([&](std::int32_t tid, const thread_account& account) {
      if (account.held_out_ns != 0) {  // over, and its call has not returned
        sources::Waited wait = described(tid, account);
        wait.out_ns = account.held_out_ns;
        wait.waited_ns = account.held_waited_ns;
        wait.queued_ns = account.held_queued_ns;
        batch.samples.emplace_back(wait);
        return;
      }
      if (account.out_ns == 0 || account.out_ns >= end_ns || account.stack_id == 0) return;
      sources::Waited wait = described(tid, account);
      const Split split = split_wait(account, end_ns);
      wait.out_ns = account.out_ns;
      wait.waited_ns = split.waited_ns;
      wait.queued_ns = split.queued_ns;
      wait.unfinished = true;
      batch.samples.emplace_back(wait);
    });
    sum_threads(end_ns, batch);
  }

  Result<> add_probe(const probe_wanted& wanted, const std::vector<sources::ProbePoint>& points) override {
    return engine_->add_probe(wanted, points);
  }
  std::vector<sources::ProbeReading> read_probes() const override { return engine_->read_probes(); }
  probe_counters probe_sums() const override { return engine_->probe_sums(); }
  Result<> add_heap_probes(std::int32_t pid, const std::vector<sources::HeapProbePoint>& points) override {
    return engine_->add_heap_probes(pid, points);
  }
  void remove_heap_probes(std::int32_t pid) override { engine_->remove_heap_probes(pid); }
  heap_probe_counters heap_probe_sums(std::int32_t pid) const override {
    return engine_->heap_probe_sums(pid);
  }

  void stop() override {
    cpus_.end();
    engine_->stop();
  }

  std::vector<int> fds() const override {
    auto fds = side_band_.fds();
    fds.push_back(engine_->ring_fd());
    return fds;
  }

  // Samples first: the side band read after them then holds everything that was before them.
  Result<> drain(Batch& batch) override {
    cpus_.look(
        monotonic_ns(),
        [this](int cpu) {
          engine_->remove_cpu(cpu);
          side_band_.retire_cpu(cpu);
        },
        [this](int cpu) {
          auto added = side_band_.add_cpu(cpu);
          if (!added) return added;
          return engine_->add_cpu(cpu, [this](int on_cpu) { return side_band_.output_fd(on_cpu); });
        },
        [this](int cpu) { return side_band_.has_stopped(cpu); });
    auto drained = engine_->drain(batch.samples);
    side_band_.drain(batch.side_band);
    find_lock_keys(batch);
    return drained;
  }

  // Without a number, so that it is one note however many there are.
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = cpus_.notes();
    if (engine_->memory_calls_lost() != 0)
      notes.emplace_back("a ring was full, so some calls that map memory are missing");
    if (engine_->switch_counters().untold_switches != 0)
      notes.emplace_back(
          "the kernel did not report some context switches; the length of those waits comes from the threads' CPU clocks");
    if (engine_->switch_counters().lost_faults != 0)
      notes.emplace_back("a ring was full: some page faults are missing from the table of files");
    return notes;
  }

  void count(model::Quality& quality) const override {
    const cpu_counters counters = engine_->counters();
    quality.lost_ring_full = counters.lost_ring_full;
    quality.kernel_truncated = counters.kernel_truncated;
    quality.bpf_ns = counters.run_ns;
    quality.bpf_runs = counters.runs;
    const auto switches = engine_->switch_counters();
    quality.switches = switches.switches;
    quality.switch_ns = switches.run_ns;
    quality.lost_waits = switches.lost_ring_full;
    quality.kernel_memory_bytes = engine_->kernel_memory_bytes() + side_band_.memory_bytes();
  }

  void walk(const sources::StackCopied& copied, sources::StackSeen& seen) override {
    copied_.walk(*processes_, copied, seen);
  }

  void set_mappings(std::int32_t pid, std::span<const unwind_mapping> mappings,
                    std::uint32_t epoch) override {
    copied_.forget(pid);
    engine_->tables().set_mappings(static_cast<std::uint32_t>(pid), mappings, epoch);
  }
  void forget(std::int32_t pid) override {
    copied_.forget(pid);
    engine_->forget(pid);
    lock_keys_.forget(pid);
  }
  std::uint32_t epoch_after_exec(std::int32_t pid, std::uint32_t known) override {
    copied_.forget(pid);
    lock_keys_.forget(pid);
    return ((known >> EPOCH_PROGRAM_SHIFT) + 1) << EPOCH_PROGRAM_SHIFT;
  }

 private:
  struct Split {
    std::uint64_t waited_ns, queued_ns;
  };
  // The wait of this account, without its times.
  static sources::Waited described(std::int32_t tid, const thread_account& account) {
    sources::Waited wait;
    wait.pid = static_cast<std::int32_t>(account.pid);
    wait.tid = tid;
    wait.stack_id = account.stack_id;
    wait.system_call = account.system_call;
    wait.weight = account.weight;
    wait.state = account.state;
    wait.throttled = account.throttled != 0;
    std::copy(std::begin(account.arguments), std::end(account.arguments), wait.arguments);
    wait.fault_address = account.fault_address;
    wait.inode = account.inode;
    wait.device = account.device;
    wait.file_mode = account.file_mode;
    wait.peer_family = account.peer_family;
    std::copy(std::begin(account.peer_address), std::end(account.peer_address), wait.peer_address.begin());
    wait.peer_port = account.peer_port;
    wait.local_port = account.local_port;
    wait.lock_key = account.lock_key;
    return wait;
  }
  // Parked threads that are seen waiting prove where the address of their lock lies.
  void find_lock_keys(const Batch& batch) {
    for (const sources::Event& event : batch.samples) {
      const auto* wait = std::get_if<sources::Waited>(&event);
      if (wait != nullptr && wait->lock_key == 0 && wait->system_call == CALL_FUTEX &&
          wait->arguments[1] == PARKER_WAITS &&
          static_cast<std::uint32_t>(wait->arguments[2]) == PARKER_PARKED)
        lock_keys_.saw(wait->pid, wait->arguments[0]);
    }
    for (const auto& proof : lock_keys_.prove(monotonic_ns()))
      engine_->set_key_distance(proof.pid, proof.key_distance);
  }
  // A wait in progress, up to now.
  static Split split_wait(const thread_account& account, std::uint64_t now_ns) {
    if (account.state == 0) return {0, now_ns - account.out_ns};
    const bool woken =
        account.woken_ns >= account.out_ns && account.woken_ns != 0 && account.woken_ns <= now_ns;
    const std::uint64_t woken_ns = woken ? account.woken_ns : now_ns;
    return {woken_ns - account.out_ns, now_ns - woken_ns};
  }
  template <class Visit>
  void for_each_account(const Visit& visit) const {
    for (const std::int32_t pid : processes_->pids()) {
      for (const std::int32_t tid : processes_->threads(pid)) {
        if (const auto account = engine_->account(tid)) visit(tid, *account);
      }
    }
  }

  CpuFollower cpus_;
  const ProcessTable* processes_ = nullptr;
  std::unique_ptr<sources::BpfEngine> engine_;
  sources::SideBand side_band_;
  parking::LockKeys lock_keys_;
  CopiedStackWalker copied_;
};

}  // namespace

Result<std::unique_ptr<Source>> open_bpf_source(const RecordOptions& options) {
  sources::BpfOptions bpf;
  bpf.frequency_hz = options.frequency_hz;
  bpf.event = options.event;
  bpf.follow_children = options.follow_children;
  bpf.cpu = options.cpu;
  bpf.off_cpu = options.off_cpu;
  bpf.mappings = options.heap != Heap::kNone && options.heap_mappings;
  bpf.probes = !options.probes.empty();
  bpf.heap_probes = options.heap == Heap::kSampled;
  bpf.copies_stacks = keeps_tables(options);
  bpf.probed_calls_per_second = options.probe_limit;
  auto engine = sources::BpfEngine::load(bpf);
  if (!engine) return tl::unexpected<Error>(engine.error());
  auto side_band = sources::SideBand::open();
  if (!side_band) return tl::unexpected<Error>(side_band.error());
  return std::make_unique<BpfSource>(std::move(*engine), std::move(*side_band));
}

}  // namespace fathom::session
