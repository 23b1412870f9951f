#include "session/recorder.h"
#include "session/heap/heap_recordings.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/clock.h"
#include "base/fd.h"
#include "base/files.h"
#include "inject/launch.h"
#include "process/machine_time.h"
#include "session/launch.h"
#include "session/memory/memory_series.h"
#include "session/memory/memory_snapshots.h"
#include "session/privileges.h"
#include "session/tracking/cpu_times.h"
#include "session/tracking/event_sink.h"
#include "session/tracking/host_facts.h"
#include "session/tracking/lost_names.h"
#include "session/tracking/module_catalog.h"
#include "session/tracking/process_table.h"
#include "session/tracking/source.h"
#include "session/tracking/stack_resolver.h"
#include "store/writer.h"
#include "symbolize/symbol_cache.h"
#include "symbolize/worker.h"

namespace fathom::session {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kDrainEvery = kSecond / 20;   // rings, without any wake-up by the kernel
constexpr std::uint64_t kMemoryEvery = kSecond / 10;  // series
constexpr std::uint64_t kSaveEvery = kSecond;         // what a kill of the profiler can cost
constexpr std::size_t kBlocksPerSave = 1 << 16;       // of the heap: one block of the file
constexpr std::size_t kMaxStacks = 4'000'000;  // 64 MB of rows and index: the bound of the profiler's memory

// SIGINT and SIGTERM as something to poll.
class StopSignals {
 public:
  StopSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
    fd_ = Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~StopSignals() {
    while (take()) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int fd() const { return fd_.get(); }
  std::optional<signalfd_siginfo> take() {
    signalfd_siginfo info;
    if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
    return info;
  }

 private:
  sigset_t before_;
  Fd fd_;
};

// A new mapping must reach the walker before the target runs long in it, also on a full machine: measured
// with eight programs on two CPUs, a normal thread came 5 to 15 ms late, one with real-time priority 0.1 ms.
// It runs for about one per cent of the time, and the kernel's limit for real-time threads bounds it.
class Urgency {
 public:
  Urgency() = default;
  ~Urgency() { end(); }
  Urgency(const Urgency&) = delete;
  Urgency& operator=(const Urgency&) = delete;
  void begin() {
    sched_param parameters{};
    parameters.sched_priority = 1;
    if (::sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameters) != 0)
      (void)::setpriority(PRIO_PROCESS, 0, -10);
  }
  void end() {
    const sched_param parameters{};
    (void)::sched_setscheduler(0, SCHED_OTHER, &parameters);
    (void)::setpriority(PRIO_PROCESS, 0, 0);
  }
};

// While what can wait is done: a compiler has a thousand new stacks in 10 ms, and in their time nobody else
// would get this CPU, not even the thread that empties the rings of the heap's tracer.
class Calm {
 public:
  explicit Calm(Urgency& urgency) : urgency_(urgency) { urgency_.end(); }
  ~Calm() { urgency_.begin(); }
  Calm(const Calm&) = delete;
  Calm& operator=(const Calm&) = delete;

 private:
  Urgency& urgency_;
};

// Never freed: the process ends when a recording does, and giving back millions of rows and nodes one by one
// takes as long as writing them.
struct Tables {
  model::Profile profile;
  model::Builder builder{profile};
  static Tables& make() {
    static auto& all = *new std::vector<Tables*>;  // whoever looks for leaks finds them here
    return *all.emplace_back(new Tables);
  }
};

class Recording {
 public:
  explicit Recording(const RecordOptions& options) : options_(options), symbols_(symbol_options(options)) {}

  Result<RecordOutcome> run(const Progress& progress);

 private:
  static symbolize::Options symbol_options(const RecordOptions& options) {
    symbolize::Options symbols;
    symbols.symbol_directory = options.symbol_directory;
    symbols.cache_directory = symbolize::default_cache_directory();
    symbols.reader.program = options.name_reader;
    if (options.give_up_privileges) symbols.capabilities = needed_capabilities({});
    return symbols;
  }
  Result<> open_source();
  Result<> find_targets();
  Result<> start();
  Result<> watch();
  Result<> loop(const Progress& progress, Urgency& urgency);
  void drain();
  void take_names();
  void account();
  void note_once(std::string note);
  Result<> launch_with_heap();
  Result<> save();
  Result<RecordOutcome> end();
  bool targets_ended();
  bool memory_reached() const;
  HeapRecordings* heaps() { return heaps_ ? &*heaps_ : nullptr; }
  void on_signal(const signalfd_siginfo& info);

  StopSignals signals_;  // first: threads that are started later must not take the signals
  const RecordOptions& options_;
  Tables& tables_ = Tables::make();
  model::Profile& profile_ = tables_.profile;
  model::Builder& builder_ = tables_.builder;
  std::optional<store::Writer> writer_;
  symbolize::Worker symbols_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<ModuleCatalog> modules_;
  std::unique_ptr<ProcessTable> processes_;
  std::unique_ptr<StackResolver> stacks_;
  std::unique_ptr<EventSink> sink_;
  std::unique_ptr<CpuTimes> cpu_times_;
  std::unique_ptr<MemorySeries> memory_;
  std::unique_ptr<MemorySnapshots> snapshots_;
  std::optional<HeapRecordings> heaps_;
  std::optional<LaunchedProcess> launched_;
  std::vector<std::int32_t> targets_;
  std::vector<Fd> target_fds_;  // pidfds
  Fd epoll_;
  Batch batch_;
  std::uint64_t started_ns_ = 0, last_rescan_ns_ = 0;
  Result<process::MachineTime> machine_before_ = process::MachineTime{};  // when it started
  std::optional<StopReason> stop_;
  bool stack_table_noted_ = false;
  LostNames lost_names_;
  std::string lost_names_noted_;
  RecordOutcome outcome_;
};

Result<> Recording::open_source() {
  if (options_.engine != Engine::kPerf) {
    auto source = open_bpf_source(options_);
    if (source) {
      source_ = std::move(*source);
      return {};
    }
    if (options_.engine == Engine::kBpf) return tl::unexpected<Error>(source.error());
    if (source.error().kind == ErrorKind::kUsage) return tl::unexpected<Error>(source.error());
    outcome_.obstacles.push_back(source.error().message);
  }
  auto source = open_perf_source(options_);
  if (!source) return tl::unexpected<Error>(source.error());
  source_ = std::move(*source);
  return {};
}

Result<> Recording::find_targets() {
  modules_ = std::make_unique<ModuleCatalog>(builder_, symbols_, source_->place_table(),
                                             options_.off_cpu || options_.heap != Heap::kNone);
  processes_ = std::make_unique<ProcessTable>(profile_, *modules_, *source_, options_.follow_children);
  source_->set_processes(*processes_);
  stacks_ = std::make_unique<StackResolver>(profile_, builder_, *processes_, *modules_, symbols_, kMaxStacks);
  sink_ = std::make_unique<EventSink>(profile_, *processes_, *stacks_, *source_);
  cpu_times_ = std::make_unique<CpuTimes>(profile_, *processes_);
  memory_ = std::make_unique<MemorySeries>(profile_);
  if (options_.memory || options_.heap != Heap::kNone)
    snapshots_ = std::make_unique<MemorySnapshots>(profile_, builder_, *processes_);
  if (options_.heap != Heap::kNone)
    heaps_.emplace(options_,
                   HeapContext{profile_, builder_, *processes_, *stacks_, [this] { return save(); }});
  if (!options_.command.empty()) {
    auto launched = LaunchedProcess::prepare(options_.command);
    if (!launched) return tl::unexpected<Error>(launched.error());
    launched_.emplace(std::move(*launched));
    targets_ = {launched_->pid()};
    modules_->prepare(launched_->path());
  } else {
    targets_ = options_.pids;
  }
  for (const std::int32_t pid : targets_) {
    Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!fd) return within(fmt::format("process {}", pid), system_error("pidfd_open", errno).value());
    target_fds_.push_back(std::move(fd));
  }
  return {};
}

Result<> Recording::start() {
  started_ns_ = monotonic_ns();
  profile_.meta.target = options_.target;
  profile_.meta.engine = source_->name();
  profile_.meta.event = options_.event;
  profile_.meta.frequency_hz = options_.frequency_hz;
  profile_.meta.start_unix_ns = wall_clock_ns();
  profile_.meta.start_ns = profile_.meta.end_ns = started_ns_;
  profile_.meta.facts = host_facts();
  machine_before_ = process::read_machine_time();
  if (!options_.command.empty() && !options_.redact)
    profile_.meta.facts["command"] = fmt::format("{}", fmt::join(options_.command, " "));

  if (launched_) {
    processes_->expect_exec(launched_->pid(), started_ns_);
    if (auto expected = source_->expect_exec(launched_->pid()); !expected) return expected;
    if (auto started = source_->start(targets_); !started) return started;
    return !heaps_ ? launched_->release() : launch_with_heap();
  }
  // The side band runs already: what changes while /proc is read is seen twice, and never not at all.
  for (const std::int32_t pid : targets_) {
    if (!processes_->read_from_proc(pid))
      return fail(ErrorKind::kNotFound, fmt::format("process {}: gone, or not ours to read", pid),
                  "ptrace access is needed: the same user, or root");
    cpu_times_->begin(pid);
  }
  if (auto started = source_->start(targets_); !started) return started;
  const std::uint64_t now = started_ns_ = profile_.meta.start_ns = monotonic_ns();
  if (options_.off_cpu) {
    for (const std::int32_t pid : targets_) source_->enter_threads(pid, now, batch_);
    sink_->take(batch_);
  }
  for (const std::int32_t pid : targets_) {
    if (!heaps_) break;
    if (auto traced = heaps_->trace(pid, false); !traced) return traced;
  }
  return {};
}

// The program is held at its first instruction: its libraries are mapped, and nothing of its own has run.
Result<> Recording::launch_with_heap() {
  const std::int32_t pid = launched_->pid();
  auto held = inject::launch_to_entry(pid, [this] { return launched_->release(); });
  if (!held) return tl::unexpected<Error>(held.error());
  drain();
  if (!processes_->read_from_proc(pid))
    return fail(ErrorKind::kNotFound, "the program ended before it began");
  if (auto traced = heaps_->trace(pid, true); !traced) {
    ::kill(pid, SIGKILL);  // it has run nothing, and would run without what was asked for
    return traced;
  }
  return held->go();
}

Result<> Recording::watch() {
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return system_error("epoll", errno);
  std::vector<int> fds = source_->fds();
  fds.push_back(signals_.fd());
  for (const Fd& fd : target_fds_) fds.push_back(fd.get());
  for (const int fd : fds) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return system_error("epoll", errno);
  }
  return {};
}

bool Recording::targets_ended() {
  for (const Fd& fd : target_fds_) {
    pollfd poll_fd{fd.get(), POLLIN, 0};
    if (::poll(&poll_fd, 1, 0) == 0) return false;
  }
  return true;
}

bool Recording::memory_reached() const {
  return (options_.until_live_bytes && heaps_ &&
          heaps_->outcome().live_bytes >= static_cast<double>(*options_.until_live_bytes)) ||
         (options_.until_resident_bytes &&
          memory_->resident_bytes() >= static_cast<double>(*options_.until_resident_bytes));
}

void Recording::on_signal(const signalfd_siginfo& info) {
  const bool again = stop_.has_value();
  stop_ = StopReason::kInterrupted;
  // Ctrl-C reaches the whole group of the terminal, our child too; a kill reaches us alone and is handed on.
  if (launched_ && !again && info.ssi_code <= 0) ::kill(launched_->pid(), static_cast<int>(info.ssi_signo));
}

void Recording::drain() {
  (void)source_->drain(batch_);
  sink_->take(batch_);
  for (const auto& ended : sink_->take_ended_threads()) cpu_times_->ended(ended);
  const auto memory_calls = sink_->take_memory_calls();
  if (heaps_) heaps_->take(memory_calls);
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
  quality.table_overflows = modules_->modules_without_room();
  if (const auto machine = process::read_machine_time(); machine && machine_before_) {
    if (const auto stolen = process::stolen_share(*machine_before_, *machine))
      profile_.meta.facts["stolen_percent"] = fmt::format("{:.1f}", 100 * *stolen);
  }
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
  for (std::string& note : source_->notes()) note_once(std::move(note));
  if (options_.cpu)  // else the CPU time promises nothing
    quality.expected_samples = static_cast<double>(cpu_times_->total_ns()) * 1e-9 * options_.frequency_hz;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * kSecond +
           static_cast<std::uint64_t>(time.tv_usec) * 1000;
  };
  quality.profiler_cpu_ns = ns(usage.ru_utime) + ns(usage.ru_stime) + symbols_.reader_cpu_ns();
  quality.profiler_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

Result<> Recording::save() {
  take_names();
  account();
  auto written = writer_->append(profile_);
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
  profile_.samples.clear();
  profile_.waits.clear();
  profile_.heap.rows.clear();
  profile_.heap.blocks.clear();
  profile_.faults.clear();
  profile_.memory_ranges.clear();
  for (auto& series : profile_.series) series.points.clear();
  return {};
}

Result<> Recording::loop(const Progress& progress, Urgency& urgency) {
  std::uint64_t next_memory = 0, next_save = monotonic_ns() + kSaveEvery;
  const auto end_ns =
      options_.duration_s ? started_ns_ + static_cast<std::uint64_t>(*options_.duration_s * 1e9) : UINT64_MAX;
  drain();  // what came before the descriptors were watched wakes nobody up
  while (!stop_) {
    epoll_event ready[16];
    const std::uint64_t before = monotonic_ns();
    const std::uint64_t wait = end_ns <= before ? 0 : std::min(kDrainEvery, end_ns - before);
    const int count = ::epoll_wait(epoll_.get(), ready, 16, static_cast<int>((wait + 999'999) / 1'000'000));
    if (count < 0 && errno != EINTR) return system_error("epoll_wait", errno);
    drain();
    if (heaps_) {
      const Calm calm(urgency);
      heaps_->refresh();
    }
    if (profile_.heap.blocks.size() >= kBlocksPerSave) {
      if (auto saved = save(); !saved) return saved;
    }
    while (const auto info = signals_.take()) on_signal(*info);
    const std::uint64_t now = monotonic_ns();
    profile_.meta.end_ns = now;
    if (options_.memory && now >= next_memory) {
      memory_->sample(now, processes_->pids());
      next_memory = now + kMemoryEvery;
    }
    if (snapshots_) snapshots_->sample(now, processes_->pids(), heaps());
    if (now >= next_save) {
      if (now - last_rescan_ns_ >= kSecond) {
        for (const std::int32_t pid : sink_->take_doubtful_processes()) {
          if (processes_->is_recorded(pid)) processes_->read_from_proc(pid);
        }
        last_rescan_ns_ = now;
      }
      cpu_times_->refresh();
      if (options_.off_cpu) {
        source_->sum_threads(now, batch_);
        sink_->take(batch_);
      }
      if (heaps_) {
        const Calm calm(urgency);
        heaps_->publish();
      }
      if (auto saved = save(); !saved) return saved;
      processes_->forget_ended(now - kSecond);
      if (progress)
        progress(profile_.quality, static_cast<double>(now - started_ns_) * 1e-9, writer_->bytes_written());
      next_save = now + kSaveEvery;
    }
    if (targets_ended()) stop_ = stop_.value_or(StopReason::kTargetEnded);
    if (now >= end_ns) stop_ = stop_.value_or(StopReason::kDuration);
    if (memory_reached()) stop_ = stop_.value_or(StopReason::kMemory);
  }
  return {};
}

Result<RecordOutcome> Recording::end() {
  cpu_times_->refresh();
  if (snapshots_) snapshots_->finish(monotonic_ns(), processes_->pids(), heaps());
  if (heaps_) heaps_->end();
  source_->stop();
  profile_.meta.end_ns = monotonic_ns();
  drain();
  if (options_.off_cpu) {
    source_->cut_waits(profile_.meta.end_ns, batch_);
    sink_->take(batch_);
  }
  sink_->finish();
  if (options_.memory) memory_->sample(profile_.meta.end_ns, processes_->pids());
  if (launched_) {
    if (stop_ == StopReason::kDuration || stop_ == StopReason::kMemory) {
      ::kill(launched_->pid(), SIGTERM);  // ours to end, as the user gave it no end of its own
      launched_->wait_status();
    } else if (stop_ == StopReason::kTargetEnded) {
      launched_->wait_status();
    }
    outcome_.target_status = launched_->poll_status();
    if (outcome_.target_status) profile_.meta.facts["exit"] = std::to_string(*outcome_.target_status);
  }
  symbols_.drain();
  take_names();
  account();
  auto finished = writer_->finish(profile_);
  outcome_.path = writer_->path();
  outcome_.stopped_by = stop_.value_or(StopReason::kTargetEnded);
  outcome_.quality = profile_.quality;
  outcome_.duration_s = profile_.duration_s();
  outcome_.file_bytes = writer_->bytes_written();
  outcome_.engine = profile_.meta.engine;
  if (heaps_) outcome_.heap = heaps_->outcome();
  if (!finished) return tl::unexpected<Error>(finished.error());
  return outcome_;
}

Result<RecordOutcome> Recording::run(const Progress& progress) {
  if (auto opened = open_source(); !opened) return tl::unexpected<Error>(opened.error());
  if (auto found = find_targets(); !found) return tl::unexpected<Error>(found.error());
  auto writer =
      store::Writer::create(options_.output, {.overwrite = options_.overwrite, .force = options_.force});
  if (!writer) return tl::unexpected<Error>(writer.error());
  writer_.emplace(std::move(*writer));
  // The command is forked and has its rights, and no thread that needs fewer is running yet.
  if (options_.give_up_privileges)
    give_up_privileges({.heap = options_.heap != Heap::kNone, .without_bpf = source_->name() != "bpf"});
  Urgency urgency;
  urgency.begin();
  if (options_.delay_s > 0 && !launched_) ::usleep(static_cast<useconds_t>(options_.delay_s * 1e6));
  if (auto started = start(); !started) return tl::unexpected<Error>(started.error());
  if (auto watched = watch(); !watched) return tl::unexpected<Error>(watched.error());
  if (auto saved = save(); !saved)
    return tl::unexpected<Error>(saved.error());  // the file is there from now on
  auto looped = loop(progress, urgency);
  urgency.end();
  auto ended = end();
  if (!looped) return tl::unexpected<Error>(looped.error());
  return ended;
}

}  // namespace

Result<RecordOutcome> record(const RecordOptions& options, const Progress& progress) {
  ::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is an error of the write, not our end
  Recording recording(options);
  return recording.run(progress);
}

}  // namespace fathom::session
