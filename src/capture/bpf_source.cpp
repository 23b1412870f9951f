// The BPF engine and the side band of the whole machine.
#include "capture/source.h"
#include "record/bpf/bpf_engine.h"
#include "record/perf/side_band.h"

namespace fathom::capture {
namespace {

class BpfSource final : public Source {
 public:
  BpfSource(std::unique_ptr<record::BpfEngine> engine, record::SideBand side_band)
      : engine_(std::move(engine)), side_band_(std::move(side_band)) {}

  std::string_view name() const override { return "bpf"; }

  ModuleCatalog::PlaceTable place_table() override {
    return [this](const unwind::Table& table) -> std::optional<record::TableSlot> {
      return engine_->tables().add(table.rows, table.pages, table.rules, table.page_base);
    };
  }

  Result<> start(const std::vector<std::int32_t>&) override {
    return engine_->start([this](int cpu) { return side_band_.output_fd(cpu); });
  }

  Result<> expect_exec(std::int32_t pid) override {
    engine_->track_from_exec(pid);
    return {};
  }

  void stop() override { engine_->stop(); }

  std::vector<int> fds() const override {
    auto fds = side_band_.fds();
    fds.push_back(engine_->ring_fd());
    return fds;
  }

  // Samples first: the side band read after them then holds everything that was before them.
  Result<> drain(Batch& batch) override {
    auto drained = engine_->drain(batch.samples);
    side_band_.drain(batch.side_band);
    return drained;
  }

  void count(profile::Quality& quality) const override {
    const cpu_counters counters = engine_->counters();
    quality.lost_ring_full = counters.lost_ring_full;
    quality.kernel_truncated = counters.kernel_truncated;
    quality.bpf_ns = counters.run_ns;
    quality.bpf_runs = counters.runs;
    quality.kernel_memory_bytes = engine_->kernel_memory_bytes() + side_band_.memory_bytes();
  }

  void set_mappings(std::int32_t pid, std::span<const unwind_mapping> mappings,
                    std::uint32_t epoch) override {
    // A greater epoch in the kernel: the process has replaced its image, and these mappings are those of the
    // old one.
    if (engine_->epoch(pid) > epoch) return;
    engine_->tables().set_mappings(static_cast<std::uint32_t>(pid), mappings, epoch);
  }
  void forget(std::int32_t pid) override { engine_->forget(pid); }
  std::uint32_t epoch_after_exec(std::int32_t pid, std::uint32_t known) override {
    return std::max(engine_->epoch(pid), known + 1);
  }

 private:
  std::unique_ptr<record::BpfEngine> engine_;
  record::SideBand side_band_;
};

}  // namespace

Result<std::unique_ptr<Source>> open_bpf_source(const RecordOptions& options) {
  record::BpfOptions bpf;
  bpf.frequency_hz = options.frequency_hz;
  bpf.event = options.event;
  bpf.follow_children = options.follow_children;
  auto engine = record::BpfEngine::load(bpf);
  if (!engine) return tl::unexpected<Error>(engine.error());
  auto side_band = record::SideBand::open();
  if (!side_band) return tl::unexpected<Error>(side_band.error());
  return std::make_unique<BpfSource>(std::move(*engine), std::move(*side_band));
}

}  // namespace fathom::capture
