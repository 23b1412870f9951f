// The engine without perf and BPF: where threads wait, from looks at /proc. The kernel tells the registers of a thread
// that waits, and of one that runs it tells nothing without perf events or stopping it: so there are no CPU samples here,
// and the CPU time of threads is told as sums. Who started, ended or loaded what is found by looking again, ten times a
// second.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/files.h"
#include "process/maps.h"
#include "process/threads.h"
#include "session/tracking/source.h"
#include "session/waits/proc_waits.h"

namespace fathom::session {
namespace {

constexpr std::uint64_t kLookEveryNs = 100'000'000;

// The program that a process runs; "" if it is gone or not ours to look at.
std::string program_of(std::int32_t pid) {
  std::string path(4096, '\0');
  const ssize_t size =
      ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), path.data(), path.size());
  path.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return path;
}

class ProcSource final : public Source {
 public:
  std::string_view name() const override { return "proc"; }
  ModuleCatalog::PlaceTable place_table() override { return {}; }
  void set_processes(const ProcessTable& processes) override { processes_ = &processes; }

  Result<> start(const std::vector<std::int32_t>& pids) override {
    auto waits = ProcWaits::open(*processes_, false);
    if (!waits) return tl::unexpected<Error>(waits.error());
    waits_ = std::move(*waits);
    if (expected_ != 0) waits_->expect_exec(expected_);
    for (const std::int32_t pid : pids) know(pid);
    return {};
  }

  Result<> expect_exec(std::int32_t pid) override {
    expected_ = pid;
    return {};
  }

  void enter_threads(std::int32_t pid, std::uint64_t now_ns, Batch& batch) override {
    waits_->enter(pid, now_ns, batch.samples);
  }
  void sum_threads(std::uint64_t, Batch& batch) override { waits_->sum(batch.samples); }
  void cut_waits(std::uint64_t, Batch& batch) override { waits_->finish(batch.samples); }
  void stop() override {}
  std::vector<int> fds() const override {
    return waits_ ? std::vector{waits_->timer_fd()} : std::vector<int>{};
  }

  Result<> drain(Batch& batch) override {
    const std::uint64_t now = monotonic_ns();
    if (now >= next_look_ns_) {
      next_look_ns_ = now + kLookEveryNs;
      for (const std::int32_t pid : processes_->pids()) look(pid, now, batch);
    }
    waits_->round(now, batch.samples);
    return {};
  }

  void count(model::Quality& quality) const override { quality.kernel_memory_bytes = 0; }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    if (waits_) notes = waits_->notes();
    notes.emplace_back(
        "engine proc: neither BPF nor perf events may be used, so there are no CPU samples: CPU time is told "
        "for "
        "each thread and not by function");
    notes.emplace_back(
        "engine proc: threads, programs and libraries that came and went within 100 ms were not seen");
    return notes;
  }

  void set_mappings(std::int32_t pid, std::span<const unwind_mapping>, std::uint32_t) override {
    if (waits_) waits_->mappings_changed(pid);
  }
  void forget(std::int32_t pid) override { known_.erase(pid); }
  std::uint32_t epoch_after_exec(std::int32_t, std::uint32_t known) override { return known + 1; }

 private:
  struct Known {
    std::string program;
    std::set<process::MapEntry> code;
  };

  // What the process table has read by itself.
  Known& know(std::int32_t pid) {
    Known& known = known_[pid];
    known.program = program_of(pid);
    known.code = code_of(pid);
    return known;
  }

  static std::set<process::MapEntry> code_of(std::int32_t pid) {
    std::set<process::MapEntry> code;
    auto maps = process::read_maps(pid);
    if (!maps) return code;
    for (process::MapEntry& entry : *maps)
      if (entry.executable) code.insert(std::move(entry));
    return code;
  }

  void look(std::int32_t pid, std::uint64_t now, Batch& batch) {
    const auto entry = known_.find(pid);
    Known& known = entry != known_.end() ? entry->second : know(pid);
    const std::string program = program_of(pid);
    if (!program.empty() && program != known.program) {
      known.program = program;
      known.code.clear();
      const sources::ProcessExeced event{now, pid, pid, process::read_thread_name(pid, pid).value_or("")};
      batch.side_band.emplace_back(event);
      waits_->on(event);
      if (pid == expected_) expected_ = 0;
    }
    if (pid == expected_) return;  // a child of ours that is not the target yet
    look_at_code(pid, now, known, batch);
    look_at_threads(pid, now, batch);
  }

  void look_at_code(std::int32_t pid, std::uint64_t now, Known& known, Batch& batch) {
    auto code = code_of(pid);
    if (code.empty()) return;  // it is gone, or about to be
    for (const process::MapEntry& mapping : code)
      if (!known.code.contains(mapping))
        batch.side_band.emplace_back(sources::MemoryMapped{now, pid, pid, mapping});
    known.code = std::move(code);
  }

  void look_at_threads(std::int32_t pid, std::uint64_t now, Batch& batch) {
    const auto there = process::read_thread_ids(pid);
    const std::vector<std::int32_t> known = processes_->threads(pid);
    const std::vector<int> none;
    const std::vector<int>& tids = there ? *there : none;
    for (const int tid : tids) {
      if (std::ranges::find(known, tid) != known.end()) continue;
      batch.side_band.emplace_back(sources::ThreadStarted{now, pid, tid});
      if (auto name = process::read_thread_name(pid, tid))
        batch.side_band.emplace_back(sources::ThreadNamed{now, pid, tid, std::move(*name)});
    }
    for (const std::int32_t tid : known) {
      if (std::ranges::find(tids, tid) != tids.end()) continue;
      const sources::ThreadEnded event{now, pid, tid};
      waits_->on(event, batch.samples);
      batch.side_band.emplace_back(event);
    }
  }

  const ProcessTable* processes_ = nullptr;
  std::int32_t expected_ = 0;
  std::map<std::int32_t, Known> known_;  // by pid
  std::unique_ptr<ProcWaits> waits_;
  std::uint64_t next_look_ns_ = 0;
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
