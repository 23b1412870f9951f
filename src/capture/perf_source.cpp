// The perf engine: samples with a copy of the stack, walked here. Tables stay in the modules, and walks look
// them up in an address space for each process, made from the process table when its mappings change.
#include <algorithm>
#include <map>

#include "capture/source.h"
#include "record/perf/sampler.h"
#include "unwind/address_space.h"
#include "unwind/unwinder.h"

namespace fathom::capture {
namespace {

std::uint64_t hash_word(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 29);
}

class PerfSource final : public Source {
 public:
  explicit PerfSource(const RecordOptions& options) : options_(options) {}

  std::string_view name() const override { return "perf"; }
  ModuleCatalog::PlaceTable place_table() override { return {}; }
  void set_processes(const ProcessTable& processes) override { processes_ = &processes; }

  Result<> start(const std::vector<std::int32_t>& pids) override {
    for (const std::int32_t pid : pids) {
      if (pid == expected_) continue;  // opened already, before it becomes the target
      if (auto opened = open(pid, false); !opened) return opened;
    }
    return {};
  }

  Result<> expect_exec(std::int32_t pid) override {
    expected_ = pid;
    return open(pid, true);
  }

  void stop() override {
    for (auto& sampler : samplers_) sampler.stop();
  }

  // The rings exist from start() on only.
  std::vector<int> fds() const override {
    std::vector<int> fds;
    for (const auto& sampler : samplers_) {
      const auto more = sampler.fds();
      fds.insert(fds.end(), more.begin(), more.end());
    }
    return fds;
  }

  Result<> drain(Batch& batch) override {
    std::vector<record::Event> events;
    for (auto& sampler : samplers_) sampler.drain(events);
    for (record::Event& event : events) {
      std::visit([&](auto& e) { sort(batch, e); }, event);
    }
    return {};
  }

  // A copied stack is walked when its turn in time has come, with the mappings of that moment.
  void walk(const record::CopiedStackSample& copied, record::StackSeen& seen,
            record::StackSample& sample) override {
    const auto space = spaces_.find(copied.pid);
    seen.time_ns = sample.time_ns = copied.time_ns;
    seen.pid = sample.pid = copied.pid;
    sample.tid = copied.tid;
    sample.cpu = copied.cpu;
    seen.kernel = copied.kernel;
    seen.end = WALK_NO_TABLE;
    if (!copied.has_user) {
      seen.end = WALK_EXITING;
    } else if (space != spaces_.end()) {
      unwind::UnwindInput input;
      input.pc = copied.instruction_pointer;
      input.sp = copied.stack_pointer;
      input.fp = copied.frame_pointer;
      input.stack_start = ProcessAddress{copied.stack_pointer};
      input.stack = copied.stack;
      frames_.clear();
      seen.end = static_cast<std::uint8_t>(unwind::Unwinder(space->second).unwind(input, frames_));
      for (const FrameAddress& frame : frames_) {
        const bool exact = frame.kind == FrameAddress::Kind::kInstructionPointer;
        seen.user.push_back(frame.address.value | (exact ? WALK_EXACT : 0));
      }
    }
    std::uint64_t hash = hash_word(static_cast<std::uint64_t>(copied.pid), seen.end);
    for (const std::uint64_t address : seen.kernel) hash = hash_word(hash, address);
    for (const std::uint64_t address : seen.user) hash = hash_word(hash, address);
    seen.stack_id = sample.stack_id = hash ^ epochs_[copied.pid];
    sample.end = seen.end;
  }

  void count(profile::Quality& quality) const override {
    quality.lost_ring_full = lost_;
    quality.kernel_memory_bytes = 0;
    for (const auto& sampler : samplers_) quality.kernel_memory_bytes += sampler.ring_memory_bytes();
  }

  std::vector<std::string> notes() const override {
    if (std::ranges::all_of(samplers_, &record::PerfSampler::sees_kernel)) return {};
    return {"this user may not sample the kernel: time inside system calls is not in the samples"};
  }

  void set_mappings(std::int32_t pid, std::span<const unwind_mapping>, std::uint32_t epoch) override {
    unwind::AddressSpace space;
    for (const CodeMapping& mapping : processes_->mappings(pid))
      space.add(ProcessAddress{mapping.start}, ProcessAddress{mapping.end}, mapping.bias,
                mapping.module->table);
    spaces_[pid] = std::move(space);
    epochs_[pid] = epoch;
  }
  void forget(std::int32_t pid) override {
    spaces_.erase(pid);
    epochs_.erase(pid);
  }
  std::uint32_t epoch_after_exec(std::int32_t pid, std::uint32_t known) override {
    spaces_.erase(pid);
    return known + 1;
  }

 private:
  Result<> open(std::int32_t pid, bool on_exec) {
    record::PerfSamplerOptions perf;
    perf.frequency_hz = options_.frequency_hz;
    perf.stack_bytes = options_.stack_copy_bytes & ~7u;
    perf.start_on_exec = on_exec;
    auto sampler = record::PerfSampler::open(pid, perf);
    if (!sampler) return tl::unexpected<Error>(sampler.error());
    samplers_.push_back(std::move(*sampler));
    return {};
  }

  void sort(Batch& batch, record::CopiedStackSample& event) { batch.samples.emplace_back(std::move(event)); }
  void sort(Batch& batch, record::Lost& event) {
    if (event.what == record::Lost::What::kSamples)
      lost_ += event.count;
    else
      batch.side_band.emplace_back(event);
  }
  template <class SideBandKind>
  requires std::is_constructible_v<record::SideBandEvent, SideBandKind>
  void sort(Batch& batch, SideBandKind& event) { batch.side_band.emplace_back(std::move(event)); }
  template <class Other>
  void sort(Batch&, Other&) {}  // of the BPF engine

  RecordOptions options_;
  const ProcessTable* processes_ = nullptr;
  std::int32_t expected_ = 0;
  std::vector<record::PerfSampler> samplers_;
  std::map<std::int32_t, unwind::AddressSpace> spaces_;
  std::map<std::int32_t, std::uint32_t> epochs_;
  std::vector<FrameAddress> frames_;
  std::uint64_t lost_ = 0;
};

}  // namespace

Result<std::unique_ptr<Source>> open_perf_source(const RecordOptions& options) {
  return std::make_unique<PerfSource>(options);
}

}  // namespace fathom::capture
