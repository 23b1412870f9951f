// The BPF engine and the side band of the whole machine.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/arch/call_numbers.h"
#include "base/clock.h"
#include "linux/perf/side_band.h"
#include "record/bpf/bpf_engine.h"
#include "record/bpf/cpu_sampling.h"
#include "record/bpf/memory_calls.h"
#include "record/bpf/switches.h"
#include "record/parking/lock_keys.h"
#include "record/session/tracking/bpf_waits.h"
#include "record/session/tracking/cpu_follower.h"
#include "record/session/tracking/source.h"

namespace fathom::session {
namespace {

class BpfSource final : public Source, private Sampler, private ExecHolder {
 public:
  BpfSource(std::unique_ptr<sources::BpfEngine> engine, sources::SideBand side_band)
      : engine_(std::move(engine)), side_band_(std::move(side_band)) {}

  std::string_view name() const override { return "bpf"; }

  ModuleCatalog::PlaceTable place_table() override {
    return [this](const unwind::Table& table) -> std::optional<sources::TableSlot> {
      return engine_->tables().add(table.rows, table.pages, table.rules, table.page_base);
    };
  }

  void set_processes(const ProcessTable& processes) override {
    if (auto* switches = engine_->switches()) waits_.emplace(*switches, processes);
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
  bool set_frequency(std::uint32_t frequency_hz) override {
    auto* cpu = engine_->cpu_sampling();
    return cpu != nullptr && cpu->set_frequency(frequency_hz);
  }

  Result<> expect_exec(std::int32_t pid) override {
    engine_->track_from_exec(pid);
    return {};
  }

  Sampler* sampler() override { return this; }
  ThreadWaits* waits() override { return waits_ ? &*waits_ : nullptr; }
  sources::FunctionProbes* function_probes() override { return engine_->function_probes(); }
  sources::HeapProbes* heap_probes() override { return engine_->heap_probes(); }
  sources::KernelEvents* kernel_events() override { return engine_->kernel_events(); }
  sources::SystemCalls* system_calls() override { return engine_->system_calls(); }
  ExecHolder* exec_holder() override { return this; }

  void stop() override {
    cpus_.end();
    engine_->stop();
  }
  void release() override { engine_->release(); }

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
    if (auto* switches = engine_->switches()) find_lock_keys(batch, *switches);
    return drained;
  }

  // Without a number, so that it is one note however many there are.
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = cpus_.notes();
    if (const auto* calls = engine_->memory_calls(); calls != nullptr && calls->lost() != 0)
      notes.emplace_back("a ring was full, so some calls that map memory are missing");
    if (switch_counters().untold_switches != 0)
      notes.emplace_back(
          "the kernel did not report some context switches; the length of those waits comes from the threads' CPU clocks");
    if (switch_counters().lost_faults != 0)
      notes.emplace_back("a ring was full: some page faults are missing from the table of files");
    return notes;
  }

  void count(model::Quality& quality) const override {
    const auto* cpu = engine_->cpu_sampling();
    const cpu_counters counters = cpu != nullptr ? cpu->counters() : cpu_counters{};
    quality.lost_ring_full = counters.lost_ring_full;
    quality.kernel_truncated = counters.kernel_truncated;
    quality.bpf_ns = counters.run_ns;
    quality.bpf_runs = counters.runs;
    const auto switches = switch_counters();
    quality.switches = switches.switches;
    quality.switch_ns = switches.run_ns;
    quality.lost_waits = switches.lost_ring_full;
    quality.kernel_memory_bytes = engine_->kernel_memory_bytes() + side_band_.memory_bytes();
  }

  void set_mappings(std::int32_t pid, std::span<const unwind_mapping> mappings,
                    std::uint32_t epoch) override {
    engine_->tables().set_mappings(static_cast<std::uint32_t>(pid), mappings, epoch);
  }
  void forget(std::int32_t pid) override {
    engine_->forget(pid);
    lock_keys_.forget(pid);
  }
  std::uint32_t epoch_after_exec(std::int32_t pid, std::uint32_t known) override {
    lock_keys_.forget(pid);
    return ((known >> EPOCH_PROGRAM_SHIFT) + 1) << EPOCH_PROGRAM_SHIFT;
  }

 private:
  Unsampled unsampled() const override { return {}; }
  void hold(std::int32_t pid) override { engine_->hold_execs(pid); }
  std::uint64_t held() const override { return engine_->execs_held(); }

  sources::Switches::Counters switch_counters() const {
    const sources::BpfEngine& engine = *engine_;
    return engine.switches() != nullptr ? engine.switches()->counters() : sources::Switches::Counters{};
  }
  // Parked threads that are seen waiting prove where the address of their lock lies.
  void find_lock_keys(const Batch& batch, sources::Switches& switches) {
    for (const sources::Event& event : batch.samples) {
      const auto* wait = std::get_if<sources::Waited>(&event);
      if (wait != nullptr && wait->lock_key == 0 && wait->system_call == CALL_FUTEX &&
          wait->arguments[1] == PARKER_WAITS &&
          static_cast<std::uint32_t>(wait->arguments[2]) == PARKER_PARKED)
        lock_keys_.saw(wait->pid, wait->arguments[0]);
    }
    for (const auto& proof : lock_keys_.prove(monotonic_ns()))
      switches.set_key_distance(proof.pid, proof.key_distance);
  }

  CpuFollower cpus_;
  std::unique_ptr<sources::BpfEngine> engine_;
  sources::SideBand side_band_;
  std::optional<BpfWaits> waits_;
  parking::LockKeys lock_keys_;
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
  bpf.events = options.events;
  bpf.system_calls = options.system_calls;
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
