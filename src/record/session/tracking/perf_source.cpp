// The perf engine: samples with a copy of the stack, which the event sink walks, and waits from looks at /proc. Tables stay
// in the modules.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/clock.h"
#include "linux/perf/sampler.h"
#include "linux/process/status.h"
#include "record/session/tracking/cpu_follower.h"
#include "record/session/tracking/process_looks.h"
#include "record/session/tracking/source.h"
#include "record/session/waits/proc_waits.h"

namespace fathom::session {
namespace {

class PerfSource final : public Source, private Sampler {
 public:
  explicit PerfSource(const RecordOptions& options) : options_(options) {}

  std::string_view name() const override { return "perf"; }
  ModuleCatalog::PlaceTable place_table() override { return {}; }
  void set_processes(const ProcessTable& processes) override { processes_ = &processes; }

  // One process that may be sampled is enough: start() leaves out the others.
  Result<> rehearse(const std::vector<std::int32_t>& pids) override {
    Result<> rehearsed;
    for (const std::int32_t pid : pids) {
      auto opened = sources::PerfSampler::open(pid, sampler_options(false));
      if (opened) return {};
      if (rehearsed) rehearsed = tl::unexpected<Error>(opened.error());
    }
    return rehearsed;
  }

  Result<> start(const std::vector<std::int32_t>& pids) override {
    if (options_.off_cpu) {
      auto waits = ProcWaits::open(*processes_, true);
      if (!waits) return tl::unexpected<Error>(waits.error());
      waits_ = std::move(*waits);
      if (expected_ != 0) waits_->expect_exec(expected_);
    }
    looks_.emplace(*processes_, waits_.get());
    Result<> first_refusal;
    for (const std::int32_t pid : pids) {
      if (pid == expected_) continue;  // opened already, before it becomes the target
      auto opened = open(pid, false);
      if (opened) continue;
      if (opened.error().kind != ErrorKind::kPermission && opened.error().kind != ErrorKind::kNotFound)
        return opened;
      if (opened.error().kind == ErrorKind::kPermission) refused_.insert(pid);
      if (first_refusal) first_refusal = std::move(opened);
    }
    cpus_.begin(monotonic_ns());
    return samplers_.empty() ? first_refusal : Result<>();
  }

  Result<> expect_exec(std::int32_t pid) override {
    expected_ = pid;
    return open(pid, true);
  }

  bool takes_more() const override { return false; }
  Sampler* sampler() override { return this; }
  ThreadWaits* waits() override { return waits_.get(); }

  void stop() override {
    cpus_.end();
    for (auto& sampler : samplers_) sampler.stop();
  }

  // The rings exist from start() on only.
  std::vector<int> fds() const override {
    std::vector<int> fds;
    for (const auto& sampler : samplers_) {
      const auto more = sampler.fds();
      fds.insert(fds.end(), more.begin(), more.end());
    }
    if (waits_) fds.push_back(waits_->timer_fd());
    return fds;
  }

  Result<> drain(Batch& batch) override {
    cpus_.look(
        monotonic_ns(), [](int) {}, [this](int cpu) { return sample_on(cpu); }, [](int) { return false; });
    std::vector<sources::Event> events;
    for (auto& sampler : samplers_) sampler.drain(events);
    for (sources::Event& event : events) {
      std::visit([&](auto& e) { sort(batch, e); }, event);
    }
    look_at_hidden(monotonic_ns(), batch);
    // After the switches, so that the waits that have ended are complete.
    if (waits_) waits_->round(monotonic_ns(), batch.samples);
    return {};
  }

  void count(model::Quality& quality) const override {
    quality.lost_ring_full = lost_;
    quality.kernel_memory_bytes = 0;
    for (const auto& sampler : samplers_) quality.kernel_memory_bytes += sampler.ring_memory_bytes();
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    if (waits_) notes = waits_->notes();
    notes.insert(notes.end(), cpus_.notes().begin(), cpus_.notes().end());
    if (any_hidden_)
      notes.push_back(why_not_sampled() + ": their CPU time is known, but not where they spent it");
    if (!refused_.empty())
      notes.push_back(
          fmt::format("this user may not sample {} of the processes: their CPU time is not in the samples",
                      refused_.size()));
    if (!std::ranges::all_of(samplers_, &sources::PerfSampler::sees_kernel))
      notes.emplace_back(
          "this user may not sample the kernel: time inside system calls is not in the samples");
    return notes;
  }

  void set_mappings(std::int32_t pid, std::span<const unwind_mapping>, std::uint32_t) override {
    if (waits_) waits_->mappings_changed(pid);
  }
  void forget(std::int32_t pid) override {
    hidden_.erase(pid);
    refused_.erase(pid);
    if (looks_) looks_->forget(pid);
  }
  std::uint32_t epoch_after_exec(std::int32_t, std::uint32_t known) override { return known + 1; }

 private:
  Unsampled unsampled() const override {
    Unsampled unsampled{hidden_, why_not_sampled(), sources::remedy_for_rights(false)};
    unsampled.pids.insert(refused_.begin(), refused_.end());
    return unsampled;
  }
  std::string why_not_sampled() const {
    return !any_hidden_ && refused_.empty()
               ? ""
               : "the kernel does not let this user sample programs that run with rights of their own (set-uid, set-group-ID, file capabilities) or whose file this user may not read";
  }

  sources::PerfSamplerOptions sampler_options(bool on_exec) const {
    sources::PerfSamplerOptions perf;
    perf.frequency_hz = options_.frequency_hz;
    perf.stack_bytes = options_.stack_copy_bytes & ~7u;
    perf.start_on_exec = on_exec;
    perf.switches = options_.off_cpu;
    return perf;
  }
  Result<> open(std::int32_t pid, bool on_exec) {
    auto sampler = sources::PerfSampler::open(pid, sampler_options(on_exec));
    if (!sampler) return tl::unexpected<Error>(sampler.error());
    samplers_.push_back(std::move(*sampler));
    return {};
  }

  // All threads that are recorded share one ring there: which sampler they belong to makes no difference.
  Result<> sample_on(int cpu) {
    if (samplers_.empty()) return {};
    std::vector<int> tids;
    for (const std::int32_t pid : processes_->pids()) {
      const auto threads = processes_->threads(pid);
      tids.insert(tids.end(), threads.begin(), threads.end());
    }
    return samplers_.front().add_cpu(cpu, tids);
  }

  void sort(Batch& batch, sources::CopiedStackSample& event) { batch.samples.emplace_back(std::move(event)); }
  void sort(Batch& batch, sources::Lost& event) {
    if (event.what == sources::Lost::What::kSamples)
      lost_ += event.count;
    else
      batch.side_band.emplace_back(event);
  }
  void sort(Batch&, sources::ThreadSwitched& event) {
    if (waits_) waits_->on(event);
  }
  // When a process executes a program with rights that this user does not have, the kernel takes the events away from it,
  // and its last record is that of an end.
  void sort(Batch& batch, sources::ThreadEnded& event) {
    if (event.tid != event.pid || !is_alive(event.pid)) return pass_on(batch, event);
    hidden_.insert(event.pid);
    any_hidden_ = true;
  }
  static bool is_alive(std::int32_t pid) {
    const auto stat = process::read_stat(pid);
    return stat && !stat->exiting && stat->state != 'Z' && stat->state != 'X';
  }
  void look_at_hidden(std::uint64_t now_ns, Batch& batch) {
    if (hidden_.empty() || !looks_ || !looks_->due(now_ns)) return;
    for (const std::int32_t pid : hidden_)
      if (processes_->is_recorded(pid)) looks_->look(pid, now_ns, batch);
  }
  template <class SideBandKind>
  requires std::is_constructible_v<sources::SideBandEvent, SideBandKind>
  void sort(Batch& batch, SideBandKind& event) { pass_on(batch, event); }
  template <class SideBandKind>
  void pass_on(Batch& batch, SideBandKind& event) {
    if (waits_) {
      if constexpr (requires { waits_->on(event); })
        waits_->on(event);
      else if constexpr (requires { waits_->on(event, batch.samples); })
        waits_->on(event, batch.samples);
    }
    batch.side_band.emplace_back(std::move(event));
  }
  template <class Other>
  void sort(Batch&, Other&) {}  // of the BPF engine

  RecordOptions options_;
  const ProcessTable* processes_ = nullptr;
  std::int32_t expected_ = 0;
  std::set<std::int32_t> refused_;  // processes that may not be sampled
  std::vector<sources::PerfSampler> samplers_;
  CpuFollower cpus_;
  std::unique_ptr<ProcWaits> waits_;  // if waits are wanted
  std::optional<ProcessLooks> looks_;
  std::set<std::int32_t> hidden_;  // processes that the kernel no longer reports
  bool any_hidden_ = false;
  std::uint64_t lost_ = 0;
};

}  // namespace

Result<std::unique_ptr<Source>> open_perf_source(const RecordOptions& options) {
  return std::make_unique<PerfSource>(options);
}

}  // namespace fathom::session
