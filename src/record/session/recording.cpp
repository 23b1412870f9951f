#include "record/session/recording.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "attach/inject/stop/launch.h"
#include "base/cache_folder.h"
#include "base/clock.h"
#include "binary/symbolize/symbol_cache.h"
#include "linux/process/command_line.h"
#include "linux/process/find.h"
#include "linux/process/status.h"
#include "model/unsampled.h"
#include "record/session/privileges.h"
#include "record/session/tracking/host_facts.h"

namespace fathom::session {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMemoryEvery = kSecond / 10;  // series
constexpr std::uint64_t kSaveEvery = kSecond;  // what a kill of the profiler can cost, where it appends
// For names that are still missing when the recording ends; readers look for those that then are.
constexpr std::chrono::seconds kNames(4);
constexpr std::size_t kBlocksPerSave = 1 << 16;  // of the heap: one block of the file

symbolize::Options symbol_options(const RecordOptions& options) {
  symbolize::Options symbols;
  symbols.symbol_directory = options.symbol_directory;
  symbols.cache_directory = symbolize::default_cache_directory();
  symbols.reader.program = options.name_reader;
  symbols.debuginfod_caches = symbolize::debuginfod_caches();
  symbols.fetch.urls = options.debuginfod_urls;
  symbols.fetch.program = options.name_reader;
  symbols.fetch.cache_directory = default_cache_folder("debug-files");
  symbols.fetch.give_up_rights = options.give_up_privileges;
  if (options.give_up_privileges) symbols.capabilities = needed_capabilities({});
  return symbols;
}

}  // namespace

Recording::Recording(const RecordOptions& options, std::unique_ptr<Source> source,
                     std::vector<std::string> obstacles)
    : options_(options),
      tables_(std::make_unique<Tables>()),
      profile_(tables_->profile),
      builder_(tables_->builder),
      symbols_(symbol_options(options)),
      source_(std::move(source)),
      companions_(options.companions),
      obstacles_(std::move(obstacles)) {}

Recording::~Recording() {
  if (options_.free_tables) return;
  // Reachable, so that leak checkers find them here.
  static auto& left = *new std::vector<std::unique_ptr<Tables>>;
  left.push_back(std::move(tables_));
}

bool keeps_tables(const RecordOptions& options) {
  return options.off_cpu || options.heap != Heap::kNone ||
         options.companions_walk;
}

void Recording::open() {
  modules_ =
      std::make_unique<ModuleCatalog>(builder_, symbols_, source_->place_table(), keeps_tables(options_));
  processes_ = std::make_unique<ProcessTable>(profile_, *modules_, *source_, options_.follow_children);
  source_->set_processes(*processes_);
  stacks_ = std::make_unique<StackResolver>(profile_, builder_, *processes_, *modules_, symbols_, kMaxStacks);
  sink_ = std::make_unique<EventSink>(profile_, *processes_, *stacks_);
  cpu_times_ = std::make_unique<CpuTimes>(*processes_);
  memory_ = std::make_unique<MemorySeries>(profile_);
  if (options_.memory || options_.heap != Heap::kNone)
    snapshots_ = std::make_unique<MemorySnapshots>(profile_, builder_, *processes_);
  if (options_.heap != Heap::kNone)
    heaps_.emplace(options_,
                   HeapContext{profile_, builder_, *processes_, *stacks_, [this] { return save(); }},
                   *source_);
  if (!options_.probes.empty()) probes_.emplace(options_, profile_, builder_, *processes_, *sink_);
  companions_.begin(profile_, builder_, *processes_, *stacks_, [this] {  // by the step that follows
    if (snapshots_) snapshots_->make_due();
    next_save_ns_ = 0;
  });
  for (const std::string& obstacle : obstacles_)
    note_once(fmt::format("fathom used engine {}, because of: {}", source_->name(), obstacle));
}

Result<> Recording::start_source(const std::vector<std::int32_t>& pids) {
  auto started = source_->start(pids);
  engine_failed_ = !started;
  return started;
}

Result<> Recording::create_file() {
  auto writer =
      store::Writer::create(options_.output, {.overwrite = options_.overwrite, .force = options_.force});
  if (!writer) return tl::unexpected<Error>(writer.error());
  writer_.emplace(std::move(*writer));
  return {};
}

void Recording::describe() {
  const std::uint64_t now = monotonic_ns();
  profile_.meta.target = options_.target;
  profile_.meta.engine = source_->name();
  if (options_.cpu) {  // else nothing is sampled, and a rate would say that nothing ran
    profile_.meta.event = options_.event;
    profile_.meta.frequency_hz = options_.frequency_hz;
    if (options_.frequency_hz > kMeasuredFrequencyHz)
      note_once(fmt::format(
          "sampling at {} Hz slows the target down by an unknown amount, which is not part of fathom's own cost (--baseline measures it)",
          options_.frequency_hz));
  }
  profile_.meta.start_unix_ns = wall_clock_ns();
  profile_.meta.start_ns = profile_.meta.end_ns = now;
  next_save_ns_ = now + kSaveEvery;
  profile_.meta.facts = host_facts();
  machine_before_ = process::read_machine_time();
  if (!options_.command.empty() && !options_.redact)
    profile_.meta.facts["command"] = process::command_line(options_.command);
}

Result<> Recording::begin(const std::vector<std::int32_t>& pids, const std::vector<std::int32_t>& targets) {
  urgency_.begin();
  for (const std::int32_t pid : pids) oom_watch_.look(pid);
  for (const std::int32_t pid : targets) endings_.add_target(pid);
  describe();
  // The side band runs already: what changes while /proc is read is seen twice, and never not at all.
  for (const std::int32_t pid : pids) {
    if (!processes_->read_from_proc(pid)) {
      if (options_.pids_are_members) continue;
      // A child may have ended since, or belong to another user.
      if (std::ranges::find(targets, pid) == targets.end()) {
        if (process::read_stat(pid))
          note_once("some children of the target are missing: this user may not read them");
        continue;
      }
      return tl::unexpected<Error>(process::unreadable_process(pid));
    }
    cpu_times_->begin(pid);
  }
  if (auto started = start_source(pids); !started) return started;
  const std::uint64_t now = profile_.meta.start_ns = monotonic_ns();
  for (const std::int32_t pid : pids) cpu_times_->begin(pid);
  if (ThreadWaits* waits = source_->waits()) {
    for (const std::int32_t pid : pids) waits->enter(pid, now, batch_.samples);
    sink_->take(batch_);
  }
  for (const std::int32_t pid : targets) {
    if (!heaps_) break;
    if (auto traced = heaps_->trace(pid, false); !traced) return traced;
  }
  if (probes_)
    if (auto probed = probes_->begin(pids, source_->function_probes()); !probed) return probed;
  own_cost_.begun(own_cpu());
  return save();  // the file is there from now on
}

// Those that it watches already cost nothing to keep: a command may go into a cgroup of its own.
void Recording::watch_memory_limits() {
  constexpr std::size_t kMost = 8;
  const auto pids = processes_->pids_with_own_row();
  for (std::size_t i = 0; i < std::min(pids.size(), kMost); ++i) oom_watch_.look(pids[i]);
}

bool Recording::join(std::int32_t pid) {
  // A child of a target is recorded already, and counts as a target from here on.
  const bool known = processes_->is_recorded(pid);
  if (!known && !source_->takes_more()) return false;
  oom_watch_.look(pid);
  endings_.add_target(pid);
  if (known) return true;
  if (!processes_->read_from_proc(pid)) return false;
  cpu_times_->begin(pid);
  if (ThreadWaits* waits = source_->waits()) {
    waits->enter(pid, monotonic_ns(), batch_.samples);
    sink_->take(batch_);
  }
  return true;
}

Result<> Recording::begin(LaunchedProcess& held) {
  urgency_.begin();
  oom_watch_.look(held.pid());
  endings_.add_target(held.pid());
  describe();
  processes_->expect_exec(held.pid(), profile_.meta.start_ns);
  if (auto expected = source_->expect_exec(held.pid()); !expected) {
    engine_failed_ = true;
    return expected;
  }
  if (auto started = start_source({held.pid()}); !started) return started;
  if (auto launched = heaps_ || probes_ ? launch_held(held) : held.release(); !launched) return launched;
  own_cost_.begun(own_cpu());
  return save();
}

// The program is held at its first instruction: its libraries are mapped, and nothing of its own has run.
Result<> Recording::launch_held(LaunchedProcess& launched) {
  const std::int32_t pid = launched.pid();
  auto held = inject::launch_to_entry(pid, [&] { return launched.release(); });
  if (!held) return tl::unexpected<Error>(held.error());
  drain();
  if (!processes_->read_from_proc(pid))
    return fail(ErrorKind::kNotFound, "the program ended before it began");
  Result<> begun = heaps_ ? begin_heap(pid) : Result<>();
  if (begun && probes_) begun = probes_->begin({pid}, source_->function_probes());
  if (!begun) {
    ::kill(pid, SIGKILL);  // it has run nothing, and would run without what was asked for
    return begun;
  }
  return held->go();
}

Result<> Recording::begin_heap(std::int32_t pid) {
  if (auto traced = heaps_->trace(pid, true); !traced) return traced;
  return heaps_->hold_execs(pid, [this] { drain(); });
}

bool Recording::memory_reached() const {
  return (options_.until_live_bytes && heaps_ &&
          heaps_->outcome().live_bytes >= static_cast<double>(*options_.until_live_bytes)) ||
         (options_.until_resident_bytes &&
          memory_->resident_bytes() >= static_cast<double>(*options_.until_resident_bytes));
}

void Recording::drain() {
  (void)source_->drain(batch_);
  sink_->take(batch_);
  for (const auto& ended : sink_->take_ended_threads()) {
    cpu_times_->ended(ended);
    if (!ended.process) continue;
    endings_.saw(ended.pid, *ended.process);
    if (ended.process->out_of_memory) oom_watch_.refresh();  // its cgroup may be removed any moment
  }
  const auto memory_calls = sink_->take_memory_calls();
  const auto heap_probed = sink_->take_heap_probed();
  if (!heaps_) return;
  heaps_->take(memory_calls);
  heaps_->take(heap_probed);
}

// Memory of processes that share a row is not reported, so it is read only if all of it counts.
void Recording::sample_memory(std::uint64_t now_ns) {
  const auto own = processes_->pids_with_own_row();
  memory_->sample(now_ns, options_.until_resident_bytes ? processes_->pids() : own, own);
  if (!options_.metrics_url.empty()) sample_metrics();
}

// The first look starts the thread that reads them; no look ever waits for it.
void Recording::sample_metrics() {
  if (!metric_series_) {
    metric_series_.emplace(profile_);
    auto url = metrics::parse_url(options_.metrics_url);
    if (!url) return note_once("metrics: " + url.error().message);
    auto scraper = metrics::Scraper::start({std::move(*url), 1'000'000'000, 5'000'000'000});
    if (!scraper) return note_once("metrics: " + scraper.error().message);
    scraper_ = std::move(*scraper);
  }
  if (!scraper_) return;
  const auto newest = scraper_->newest();
  const auto pids = processes_->pids_with_own_row();
  if (newest == nullptr || pids.empty()) return;
  if (!newest->problem.empty()) note_once("metrics: " + newest->problem);
  metric_series_->add(*newest, options_.pids.empty() ? pids.front() : options_.pids.front());
  if (metric_series_->left_out() != 0)
    note_once(fmt::format("metrics: of {} numbers {} were recorded",
                          metric_series_->series() + metric_series_->left_out(), metric_series_->series()));
}

void Recording::take_names() {
  auto found = symbols_.poll();
  for (const auto& frame : found.frames) {
    std::vector<model::Builder::NamedLine> lines;
    lines.reserve(frame.names.size());
    for (const auto& name : frame.names) lines.push_back({name.function, name.file, name.line});
    builder_.name_frame(frame.frame, lines);
  }
  for (auto& health : found.modules) {
    model::Module& row = profile_.modules[health.module.value];
    row.symbols = health.symbols;
    row.symbols_path = builder_.string(health.symbols_path);
    if (!health.problem.empty()) note_once(std::move(health.problem));
    if (!health.lost.empty()) lost_names_.add(profile_.strings[row.name], health.lost);
  }
}

void Recording::clear_rows() {
  profile_.samples.clear();
  profile_.waits.clear();
  profile_.heap.rows.clear();
  profile_.heap.blocks.clear();
  profile_.faults.clear();
  profile_.calls.clear();
  profile_.memory_ranges.clear();
  for (auto& series : profile_.series) series.points = {};  // gives the room back, too
}

// The file before it stays until this one is whole.
Result<> Recording::write_anew(bool last) {
  std::optional<Calm> calm;
  if (!last) calm.emplace(urgency_);
  auto writer = store::Writer::create(
      options_.output, {.overwrite = options_.overwrite || has_file_, .force = options_.force});
  if (!writer) return tl::unexpected<Error>(writer.error());
  auto written = last ? writer->finish(profile_) : writer->append(profile_);
  if (!written) return written;
  writer_.emplace(std::move(*writer));
  has_file_ = true;
  return {};
}

Result<> Recording::save() {
  take_names();
  account();
  const auto way = companions_.before_save(false);
  if (way != Companion::Save::kAppend) {
    // A disk that is full now may have room in an hour: what is kept is written then.
    if (way == Companion::Save::kAnew)
      if (auto written = write_anew(false); !written) {
        if (!has_file_) return written;
        note_once("a state of the recording could not be written: " + written.error().message);
      }
    processes_->rows().written();
    clear_rows();
    return {};
  }
  auto written = writer_->append(profile_, &processes_->rows().changed());
  if (!written) {
    profile_.quality.lost_disk += profile_.samples.size();
    profile_.quality.samples -= profile_.samples.size();
    profile_.quality.waits -= profile_.waits.size();
    profile_.quality.lost_waits += profile_.waits.size();
    profile_.samples.clear();
    profile_.waits.clear();
    profile_.faults.clear();
    profile_.heap.blocks.clear();
    if (written.error().remedy.empty())
      written.error().remedy = "-o FILE on a disk with room; what was written before can be read";
    return written;
  }
  processes_->rows().written();
  clear_rows();
  return {};
}

Result<> Recording::step(std::uint64_t now) {
  companions_.before_events(now);
  drain();
  if (heaps_) {
    const Calm calm(urgency_);
    heaps_->refresh();
  }
  if (profile_.heap.blocks.size() >= kBlocksPerSave) {
    if (auto saved = save(); !saved) return saved;
  }
  profile_.meta.end_ns = now;
  if (now >= next_memory_ns_) {
    if (options_.memory) {
      sample_memory(now);
      rare_readings_.look(now, processes_->pids_with_own_row());
    }
    // Such a process's CPU time up to its end is unknown.
    if (const auto unsampled = unsampled_by(*source_, *processes_).pids; !unsampled.empty()) cpu_times_->refresh(unsampled);
    next_memory_ns_ = now + kMemoryEvery;
  }
  companions_.step(now);
  if (snapshots_) snapshots_->sample(now, processes_->pids_with_own_row(), heaps());
  companions_.readings_taken();
  if (now < next_save_ns_) return {};
  next_save_ns_ = now + kSaveEvery;
  if (now - last_rescan_ns_ >= kSecond) {
    for (const std::int32_t pid : sink_->take_doubtful_processes()) {
      if (processes_->is_recorded(pid)) processes_->read_from_proc(pid);
    }
    last_rescan_ns_ = now;
  }
  cpu_times_->refresh(unsampled_by(*source_, *processes_).pids);
  watch_memory_limits();
  if (ThreadWaits* waits = source_->waits()) {
    waits->sum(now, batch_.samples);
    sink_->take(batch_);
  }
  if (heaps_) {
    const Calm calm(urgency_);
    heaps_->publish();
  }
  if (probes_) probes_->take(now, false);
  if (auto saved = save(); !saved) return saved;
  sink_->forget_ended(now - kSecond);
  return {};
}

void Recording::end() {
  urgency_.relax();  // on a full machine an ordinary thread would end the recording many seconds late
  // Before anything that takes time: the cgroup in which a target was killed may be removed any moment.
  oom_watch_.refresh();
  companions_.before_events(monotonic_ns());
  cpu_times_->refresh(unsampled_by(*source_, *processes_).pids);
  if (snapshots_) snapshots_->finish(monotonic_ns(), processes_->pids_with_own_row(), heaps());
  drain();  // calls that map memory are taken by heaps that have not ended
  if (heaps_) heaps_->end();
  source_->stop();
  cpu_times_->refresh(unsampled_by(*source_, *processes_).pids);  // samples taken meanwhile are expected, too
  profile_.meta.end_ns = monotonic_ns();
  drain();
  if (heaps_) heaps_->finish();
  if (ThreadWaits* waits = source_->waits()) {
    waits->finish(profile_.meta.end_ns, batch_.samples);
    sink_->take(batch_);
  }
  if (probes_) probes_->take(profile_.meta.end_ns, true);
  sink_->finish();
  if (options_.memory) {
    sample_memory(profile_.meta.end_ns);
    rare_readings_.finish(processes_->pids_with_own_row());
    rare_readings_.put(profile_.meta.facts);
  }
  own_cost_.ended(own_cpu());
}

void Recording::tell_endings(const TargetEnds& targets) {
  auto& facts = profile_.meta.facts;
  for (const TargetEnds::End& end : targets.ends) {
    endings_.saw_target(end.pid, end.wait_status);
    if (targets.launched) facts["command_pid"] = std::to_string(end.pid);
  }
  oom_watch_.refresh();
  endings_.tell(oom_watch_, targets.launched, facts);
  if (const auto kill = oom_watch_.kill()) {
    facts["oom_cgroup"] = kill->cgroup;
    if (kill->limit_bytes) facts["oom_limit_bytes"] = std::to_string(*kill->limit_bytes);
  }
}

// A command that makes itself a daemon ends at once, and its recording with it: what was to be seen comes later.
std::vector<std::int32_t> Recording::processes_left_by_command(const TargetEnds& targets) const {
  std::vector<std::int32_t> left;
  if (!targets.launched || targets.ends.empty()) return left;
  for (const std::int32_t pid : processes_->pids()) {
    if (pid == targets.ends.front().pid) continue;
    const Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    pollfd ended{fd.get(), POLLIN, 0};
    if (fd && ::poll(&ended, 1, 0) == 0) left.push_back(pid);
  }
  return left;
}

Result<> Recording::finish(const TargetEnds& targets, RecordOutcome& outcome) {
  tell_endings(targets);
  outcome.outlived_by = processes_left_by_command(targets);
  if (const std::size_t left = outcome.outlived_by.size(); left != 0)
    note_once(fmt::format(
        "when the command ended, {} that it had started still ran: the recording ended with the command, and what they did afterwards is not in it",
        left == 1 ? "a process" : fmt::format("{} processes", left)));
  if (!symbols_.drain(kNames, options_.hurry))
    note_once(
        "names: the recording ended before all of them were read; fathom report finds them on this machine");
  take_names();
  if (std::string fetched = symbols_.fetch_sentence(); !fetched.empty()) note_once(std::move(fetched));
  is_ending_ = true;
  processes_->rows().name_shared_rows();
  account();
  const auto way = companions_.before_save(true);
  auto finished = way == Companion::Save::kAppend ? writer_->finish(profile_, &processes_->rows().changed())
                                                  : write_anew(true);
  urgency_.end();
  outcome.path = writer_->path();
  outcome.recorded = true;
  outcome.quality = profile_.quality;
  for (const model::EarlyEnd& each : profile_.quality.early_ends)
    if (profile_.strings[profile_.modules[each.module.value].name] == kTracerModule)
      outcome.cut_in_tracer += each.count;
  outcome.duration_s = profile_.duration_s();
  outcome.cpu_s = cpu_seconds();
  outcome.saw_waits = outcome.quality.waits != 0 || model::has_thread_times(profile_);
  outcome.unsampled = model::find_unsampled(
      profile_.meta,
      {.cpu_s = outcome.cpu_s,
       .samples = outcome.quality.samples,
       .lost = outcome.quality.lost_ring_full + outcome.quality.lost_stack + outcome.quality.lost_disk});
  outcome.file_bytes = writer_->bytes_written();
  outcome.engine = profile_.meta.engine;
  outcome.obstacles = std::move(obstacles_);
  if (heaps_) outcome.heap = heaps_->outcome();
  outcome.left_changed = model::left_changed_of(profile_.meta.facts);
  if (finished) finished = writer_->ensure_there();
  return finished;
}

}  // namespace fathom::session
