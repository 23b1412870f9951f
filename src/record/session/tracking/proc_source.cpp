// The engine without perf and BPF: where threads wait, from scans of /proc. The kernel reports the registers
// of a waiting thread, but not of a running one without perf events or stopping it: so there are no CPU
// samples here, and CPU time of threads is recorded as sums. Starts, ends and loaded code are found by
// scanning ten times a second.
#include <optional>

#include "base/clock.h"
#include "record/session/tracking/process_looks.h"
#include "record/session/tracking/source.h"
#include "record/session/waits/proc_waits.h"

namespace fathom::session {
namespace {

class ProcSource final : public Source {
 public:
  std::string_view name() const override { return "proc"; }
  ModuleCatalog::PlaceTable place_table() override { return {}; }
  void set_processes(const ProcessTable& processes) override { processes_ = &processes; }

  // Scans need no rights but those of the user.
  Result<> rehearse(const std::vector<std::int32_t>&) override { return {}; }

  Result<> start(const std::vector<std::int32_t>& pids) override {
    auto waits = ProcWaits::open(*processes_, false);
    if (!waits) return tl::unexpected<Error>(waits.error());
    waits_ = std::move(*waits);
    looks_.emplace(*processes_, waits_.get());
    if (expected_ != 0) {
      waits_->expect_exec(expected_);
      looks_->expect_exec(expected_);
    }
    for (const std::int32_t pid : pids) looks_->know(pid);
    return {};
  }

  Result<> expect_exec(std::int32_t pid) override {
    expected_ = pid;
    return {};
  }

  bool takes_more() const override { return false; }
  ThreadWaits* waits() override { return waits_.get(); }
  void stop() override {}
  std::vector<int> fds() const override {
    return waits_ ? std::vector{waits_->timer_fd()} : std::vector<int>{};
  }

  Result<> drain(Batch& batch) override {
    const std::uint64_t now = monotonic_ns();
    if (looks_->due(now))
      for (const std::int32_t pid : processes_->pids()) looks_->look(pid, now, batch);
    waits_->round(now, batch.samples);
    return {};
  }

  void count(model::Quality& quality) const override { quality.kernel_memory_bytes = 0; }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    if (waits_) notes = waits_->notes();
    notes.emplace_back(
        "engine proc: neither BPF nor perf events are available, so there are no CPU samples: CPU time is known per thread, not per function");
    notes.emplace_back(
        "engine proc: processes, threads, programs and libraries that came and went within 100 ms were not seen");
    return notes;
  }

  void set_mappings(std::int32_t pid, std::span<const unwind_mapping>, std::uint32_t) override {
    if (waits_) waits_->mappings_changed(pid);
  }
  void forget(std::int32_t pid) override {
    if (looks_) looks_->forget(pid);
  }
  std::uint32_t epoch_after_exec(std::int32_t, std::uint32_t known) override { return known + 1; }

 private:
  const ProcessTable* processes_ = nullptr;
  std::int32_t expected_ = 0;
  std::unique_ptr<ProcWaits> waits_;
  std::optional<ProcessLooks> looks_;
};

}  // namespace

Result<std::unique_ptr<Source>> open_proc_source(const RecordOptions& options) {
  if (!options.off_cpu)
    return fail(ErrorKind::kPermission,
                "without BPF and perf events only waits can be seen, and they are not asked for",
                "fathom record --off-cpu, or fathom doctor, which says how to allow more");
  return std::make_unique<ProcSource>();
}

}  // namespace fathom::session
