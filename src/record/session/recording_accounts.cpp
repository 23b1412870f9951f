// What a recording says of itself: losses, notes, its own cost, other load on the machine. account() is called before each save.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/mapped_files.h"
#include "model/unsampled.h"
#include "record/session/recording.h"

namespace fathom::session {

void Recording::note_once(std::string note) {
  auto& notes = profile_.quality.notes;
  if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
}

void Recording::account() {
  model::Quality& quality = profile_.quality;
  if (std::string lost = lost_names_.sentence(); lost != lost_names_noted_) {
    std::erase(quality.notes, lost_names_noted_);
    quality.notes.push_back(lost);
    lost_names_noted_ = std::move(lost);
  }
  source_->count(quality);
  if (probes_) probes_->account();
  quality.table_overflows = modules_->modules_without_room();
  if (heaps_) heaps_->account(quality);
  if (snapshots_) {
    for (std::string& note : snapshots_->take_notes()) quality.notes.push_back(std::move(note));
    if (std::string cost = snapshots_->cost(); !cost.empty())
      profile_.meta.facts["memory_maps"] = std::move(cost);
  }
  if (stacks_->stacks_refused() > 0 && !stack_table_noted_) {
    stack_table_noted_ = true;
    quality.notes.push_back(
        fmt::format("more than {} distinct stacks: new ones are shown as (stack table full)", kMaxStacks));
  }
  note_shared_rows();
  if (const std::uint64_t pages = lost_pages(); pages > 0 && is_ending_)
    note_once(fmt::format(
        "files were truncated while fathom read them: {} pages were taken as zeros, so stacks and names of their code may be missing or wrong",
        pages));
  for (std::string& note : source_->notes()) note_once(std::move(note));
  if (Unsampled unsampled = unsampled_by(*source_, *processes_); options_.cpu && !unsampled.why.empty()) {
    auto& facts = profile_.meta.facts;
    facts[model::kNotSampledFact] = std::move(unsampled.why);
    facts[model::kNotSampledTryFact] = std::move(unsampled.remedy);
    facts[model::kNotSampledMsFact] = std::to_string(cpu_times_->unsampled_ns() / 1'000'000);
  }
  if (options_.cpu && source_->sampler() != nullptr) {  // else the CPU time promises nothing
    const std::uint64_t sampled_ns = cpu_times_->total_ns() - cpu_times_->unsampled_ns();
    quality.expected_samples = static_cast<double>(sampled_ns) * 1e-9 * options_.frequency_hz;
    profile_.meta.facts["cpu_runs"] = std::to_string(cpu_times_->runs());
    if (const auto waited_ns = cpu_times_->waited_ns())
      profile_.meta.facts["cpu_wait_ms"] = std::to_string(*waited_ns / 1'000'000);
    profile_.meta.facts["ended_threads"] = std::to_string(cpu_times_->ended_threads());
  }
  account_own_cost();
  account_machine();
}

OwnCpu Recording::own_cpu() const {
  const std::uint64_t naming_ns = symbols_.cpu_ns();
  return {clock_ns(CLOCK_PROCESS_CPUTIME_ID) + symbols_.reader_cpu_ns(), naming_ns};
}

void Recording::account_own_cost() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const OwnCpu now = own_cpu();
  profile_.quality.profiler_cpu_ns = now.all_ns;
  profile_.quality.profiler_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  tell(own_cost_.parts(now), profile_.meta.facts);
}

void Recording::account_machine() {
  const auto machine = process::read_machine_time();
  if (!machine || !machine_before_) return;
  const auto tell = [&](const char* fact, std::optional<double> share) {
    if (share) profile_.meta.facts[fact] = fmt::format("{:.1f}", 100 * *share);
  };
  tell("stolen_percent", process::stolen_share(*machine_before_, *machine));
  if (!options_.cpu || profile_.meta.end_ns <= profile_.meta.start_ns) return;
  // What else ran takes caches from the target, and lets the clock rate vary.
  const double known_s =
      static_cast<double>(cpu_times_->total_ns() + profile_.quality.profiler_cpu_ns) * 1e-9;
  const double available_s = profile_.duration_s() * static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  tell("others_percent", process::others_share(*machine_before_, *machine, known_s, available_s));
}

// All notes are written when one of them changes: not every second, but each time that the number has doubled.
void Recording::note_shared_rows() {
  const RowBook::Shared shared = processes_->rows().shared();
  const std::uint64_t all = shared.processes + shared.threads;
  if (all == 0 || (!is_ending_ && all < 2 * shared_rows_noted_)) return;
  std::string note = fmt::format(
      "{} short-lived processes and {} short-lived threads{} are merged with others of the same program and name, and cannot be distinguished",
      shared.processes, shared.threads, is_ending_ ? "" : ", or more,");
  auto& notes = profile_.quality.notes;
  std::erase(notes, shared_rows_note_);
  notes.push_back(note);
  shared_rows_note_ = std::move(note);
  shared_rows_noted_ = all;
}

}  // namespace fathom::session
