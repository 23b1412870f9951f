#include "binary/symbolize/worker.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "base/capabilities.h"
#include "binary/symbolize/remote_symbols.h"
#include "linux/process/status.h"

namespace fathom::symbolize {
namespace {

// Small enough that drain() soon gets its turn, large enough that neighbours share their work.
constexpr std::size_t kBatch = 1024;
// What may stay open of DWARF between two batches, in all modules together.
constexpr std::size_t kMostReleasableBytes = 48 << 20;
constexpr auto kUnusedFor = std::chrono::seconds(5);
constexpr auto kIdle = std::chrono::seconds(1);
constexpr std::size_t kWorthSaving = 256;  // new addresses; fewer wait for the end
constexpr int kWaitedForNice = -20;
constexpr int kCapSysNice = 23;  // linux/capability.h

// SCHED_IDLE can be left only by root, or as far as RLIMIT_NICE allows. Where it cannot, the thread could not
// be helped when the user waits for its last batch, so it starts with a better priority.
bool may_raise_priority() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NICE, &limit) == 0 && limit.rlim_cur >= 20) return true;
  const auto status = process::read_status(::getpid());
  return status && (status->effective_capabilities >> kCapSysNice & 1) != 0;
}

void set_priority(pid_t tid, int policy, int nice) {
  const sched_param parameter{};
  ::sched_setscheduler(tid, policy, &parameter);
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(tid), nice);
}

// With SCHED_IDLE the scheduler treats the CPU as one without work: the target's threads are put there when
// they wake up, and need not wait or go elsewhere, as they do for one that is merely nice.
// The reader comes first: while it is started, the thread takes from it what it has to be afterwards.
void make_idle_priority(pid_t tid, bool can_be_undone, NameProcess* reader = nullptr) {
  const int policy = can_be_undone ? SCHED_IDLE : SCHED_BATCH, nice = can_be_undone ? 19 : 10;
  if (reader != nullptr) reader->set_priority(policy, nice);
  set_priority(tid, policy, nice);
}

std::uint64_t cpu_ns_of(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

Worker::Worker(Options options)
    : options_(std::move(options)),
      debug_files_(options_),
      cache_directory_(options_.cache_directory, options_.cache_limit_bytes),
      reader_(options_.reader.program.empty() ? nullptr : std::make_unique<NameProcess>(options_.reader)),
      may_raise_priority_(may_raise_priority()),
      fetcher_(options_.fetch.urls.empty() || options_.fetch.program.empty() || !reader_
                   ? nullptr
                   : std::make_unique<DebugFetcher>(options_.fetch, [this] { note_results(); })),
      thread_([this] { run(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    if (may_raise_priority_ && tid_ != 0) set_priority(tid_, SCHED_BATCH, 0);
  }
  wake_.notify_all();
  if (reader_) reader_->interrupt();
  thread_.join();
  fetcher_.reset();
  for (Module* module : loaded_modules()) save(*module);
}

void Worker::submit(model::ModuleId id, ModuleSource source) {
  {
    const std::lock_guard lock(mutex_);
    auto& module = modules_[id];
    if (!module.source) module.source = std::move(source);
  }
  wake_.notify_one();
}

void Worker::submit(model::ModuleId id, model::FrameId frame, ElfAddress address) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    auto& queue = modules_[id].queue;
    wake = queue.empty();
    queue.push_back({frame, address});
  }
  if (wake) wake_.notify_one();
}

Worker::Output Worker::poll() {
  const std::lock_guard lock(mutex_);
  return std::exchange(output_, {});
}

void Worker::raise_priority() {
  if (may_raise_priority_ && reader_) reader_->set_priority(SCHED_BATCH, kWaitedForNice);
  if (may_raise_priority_ && tid_ != 0) set_priority(tid_, SCHED_BATCH, kWaitedForNice);
}

bool Worker::is_done() {
  // A batch that is being named is in no queue.
  const std::unique_lock work(work_mutex_, std::try_to_lock);
  const std::lock_guard lock(mutex_);
  const bool done = work.owns_lock() && !has_work();
  if (!done && !is_raised_) {
    raise_priority();
    is_raised_ = true;
  } else if (done && is_raised_) {
    if (may_raise_priority_ && tid_ != 0) make_idle_priority(tid_, true, reader_.get());
    is_raised_ = false;
  }
  return done;
}

bool Worker::drain(std::chrono::nanoseconds most, const std::function<bool()>& hurry) {
  {
    // A caller waits for it, and a full machine has little CPU for a normal thread.
    const std::lock_guard lock(mutex_);
    raise_priority();
    is_due_ = true;
  }
  {
    const std::lock_guard work(work_mutex_);
    const std::lock_guard lock(mutex_);
    for (auto& [id, module] : modules_) {
      module.queue.insert(module.queue.end(), module.unnamed.begin(), module.unnamed.end());
      module.unnamed.clear();
    }
  }
  const std::uint64_t before_ns = cpu_ns_of(CLOCK_THREAD_CPUTIME_ID);
  const auto files_until = Clock::now() + std::chrono::nanoseconds(options_.fetch.wait_ns);
  const auto hurries = [&] { return hurry && hurry(); };
  auto until = Clock::now() + most;
  if (reader_) reader_->end_by(fetcher_ ? std::max(until, files_until + most) : until, hurry);
  const auto read_names = [&](bool wait) {
    bool done = false;
    while (!done && Clock::now() < until && !hurries()) {
      const std::lock_guard work(work_mutex_);
      if (step()) continue;
      const auto before = Clock::now();
      done = !wait || !wait_for_files(files_until, hurries);
      until += Clock::now() - before;
    }
    return done;
  };
  (void)read_names(true);
  stop_fetching();
  const bool done = read_names(false);
  if (reader_) reader_->end_by(Clock::time_point::max(), {});
  drain_cpu_ns_ += cpu_ns_of(CLOCK_THREAD_CPUTIME_ID) - before_ns;
  const std::lock_guard lock(mutex_);
  is_due_ = false;
  if (may_raise_priority_ && tid_ != 0) make_idle_priority(tid_, true, reader_.get());
  return done;
}

std::uint64_t Worker::cpu_ns() const {
  clockid_t clock{};
  // The thread is joined by the destructor only, so its handle is good.
  if (::pthread_getcpuclockid(const_cast<std::thread&>(thread_).native_handle(), &clock) != 0) return 0;
  return cpu_ns_of(clock) + drain_cpu_ns_ + reader_cpu_ns();
}

void Worker::run() {
  ::pthread_setname_np(::pthread_self(), "fathom-symbols");
  const auto tid = static_cast<pid_t>(::syscall(SYS_gettid));
  make_idle_priority(tid, may_raise_priority_, reader_.get());
  if (options_.capabilities != ~CapabilitySet{0}) (void)keep_capabilities(options_.capabilities);
  std::unique_lock lock(mutex_);
  tid_ = tid;
  while (!stop_) {
    if (!wake_.wait_for(lock, kIdle, [&] { return stop_ || has_work(); })) {
      lock.unlock();
      {
        const std::lock_guard work(work_mutex_);
        tidy();
      }
      lock.lock();
      continue;
    }
    if (stop_) break;
    lock.unlock();
    {
      const std::lock_guard work(work_mutex_);
      step();
    }
    lock.lock();
  }
}

bool Worker::has_work() const {
  return std::any_of(modules_.begin(), modules_.end(), [](const auto& row) {
    const Module& module = row.second;
    return module.source && !module.queue.empty() && may_be_named(module);
  });
}

std::optional<Worker::Batch> Worker::next_batch() {
  const std::lock_guard lock(mutex_);
  // Modules are loaded first: reading them is what takes time, and the target may be gone soon. But only those that something
  // ran in: a short program maps libraries that no sample ever lies in. Where time is short, what is loaded is named first.
  // Of several that with the longest queue: it has most of the samples, and a batch of it is worth its while.
  Module *longest = nullptr, *unloaded = nullptr;
  model::ModuleId longest_id, unloaded_id;
  const auto is_longer = [](const Module& module, const Module* than) {
    return module.queue.size() > (than != nullptr ? than->queue.size() : 0);
  };
  for (auto& [id, module] : modules_) {
    if (!module.source) continue;
    if (!module.loaded && is_longer(module, unloaded)) {
      unloaded = &module;
      unloaded_id = id;
    } else if (module.loaded && may_be_named(module) && is_longer(module, longest)) {
      longest = &module;
      longest_id = id;
    }
  }
  if (unloaded != nullptr && (longest == nullptr || !is_due_)) return Batch{unloaded_id, unloaded, {}};
  if (longest == nullptr) return std::nullopt;
  Batch batch{longest_id, longest, {}};
  auto& queue = longest->queue;
  const auto count = std::min(queue.size(), kBatch);
  batch.frames.assign(queue.end() - static_cast<std::ptrdiff_t>(count), queue.end());
  queue.resize(queue.size() - count);
  return batch;
}

bool Worker::step() {
  auto batch = next_batch();
  if (!batch) return false;
  Module& module = *batch->module;
  // `source` is written once, before the module can be in a batch.
  try {
    if (!module.loaded) load(*batch, *module.source);
    resolve(*batch);
  } catch (const std::exception&) {
    // Out of memory in one module: its names are lost, the others' are not.
    module.symbols.reset();
  }
  {
    const std::lock_guard lock(mutex_);
    module.loaded = true;
  }
  tell_health(*batch);
  return true;
}

// Only the kernel can write its own data and the vdso that it maps.
std::unique_ptr<ModuleSymbols> Worker::open(const Batch& batch, const ModuleSource& source) {
  const bool of_the_target =
      source.kind == model::ModuleKind::kFile || source.kind == model::ModuleKind::kAnonymous;
  if (reader_ && of_the_target) return open_remote(source, options_, debug_files_, *reader_, batch.id.value);
  return ModuleSymbols::open(source, options_, debug_files_);
}

void Worker::load(const Batch& batch, const ModuleSource& source) {
  Module& module = *batch.module;
  module.symbols = open(batch, source);
  module.last_use = Clock::now();
  if (fetcher_ && module.symbols->wants_debug_file()) ask_for_file(module);
  load_cache(module);
}

void Worker::load_cache(Module& module) {
  const ModuleSource& source = *module.source;
  if (source.kind != model::ModuleKind::kFile || module.symbols->source() != model::SymbolSource::kDwarf)
    return;
  if (source.identity.empty() || !options_.inlines) return;
  module.stamp = module.symbols->stamp();
  module.cache = cache_directory_.load(source.identity, module.stamp);
  if (!module.cache) module.cache.emplace();
  module.saved_size = module.cache->size();
}

void Worker::resolve(Batch& batch) {
  Module& module = *batch.module;
  if (!module.symbols || batch.frames.empty()) return;
  module.last_use = Clock::now();
  take_file(module);
  if (module.source->kind == model::ModuleKind::kAnonymous) {
    batch.frames.insert(batch.frames.end(), module.unnamed.begin(), module.unnamed.end());
    module.unnamed.clear();
  }
  std::sort(batch.frames.begin(), batch.frames.end(),
            [](const Frame& a, const Frame& b) { return a.address < b.address; });
  std::vector<NamedFrame> named;
  std::vector<Frame> missing;
  for (const auto& frame : batch.frames) {
    auto known = module.cache ? module.cache->find(frame.address) : std::nullopt;
    if (!known)
      missing.push_back(frame);
    else if (!known->empty())
      named.push_back({frame.frame, std::move(*known)});
  }
  std::vector<ElfAddress> addresses;
  for (const auto& frame : missing) addresses.push_back(frame.address);
  auto names = module.symbols->resolve(addresses);
  const bool lost = !module.symbols->lost().empty();  // "no name" is not what the file says
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (module.cache && !lost) module.cache->add(missing[i].address, names[i]);
    if (!names[i].empty())
      named.push_back({missing[i].frame, std::move(names[i])});
    else if (module.source->kind == model::ModuleKind::kAnonymous)
      module.unnamed.push_back(missing[i]);
  }
  {
    const std::lock_guard lock(mutex_);
    std::move(named.begin(), named.end(), std::back_inserter(output_.frames));
  }
  std::size_t open_bytes = 0;
  const auto others = loaded_modules();
  for (const Module* other : others) open_bytes += other->symbols->releasable_bytes();
  if (open_bytes <= kMostReleasableBytes) return;
  for (Module* other : others)
    if (other != &module || module.symbols->releasable_bytes() > kMostReleasableBytes)
      other->symbols->release_memory();
}

void Worker::ask_for_file(Module& module) {
  {
    const std::lock_guard lock(mutex_);
    module.waits_for_file = true;
  }
  if (fetcher_->ask(module.source->identity)) return;
  const std::lock_guard lock(mutex_);
  module.waits_for_file = false;
}

void Worker::note_results() {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, module] : modules_)
      if (module.waits_for_file && fetcher_->is_ready(module.source->identity)) module.has_result = true;
  }
  wake_.notify_all();
}

void Worker::take_file(Module& module) {
  {
    const std::lock_guard lock(mutex_);
    if (!module.waits_for_file || !module.has_result) return;
    module.waits_for_file = module.has_result = false;
  }
  auto fetched = fetcher_->take(module.source->identity);
  if (!fetched) return;
  const std::string name = module.source->path.substr(module.source->path.rfind('/') + 1);
  {
    const std::lock_guard lock(mutex_);
    if (fetched->file)
      fetches_.here.push_back(name);
    else if (fetched->not_found)
      fetches_.not_found.push_back(name);
    else
      fetches_.failed.emplace_back(name, fetched->why);
  }
  if (!fetched->file) return;
  module.symbols->use_debug_file(std::move(*fetched));
  load_cache(module);
}

bool Worker::wait_for_files(Clock::time_point deadline, const std::function<bool()>& hurries) {
  if (!fetcher_) return false;
  std::unique_lock lock(mutex_);
  const auto is_settled = [&] {
    return stop_ || has_work() || std::ranges::none_of(modules_, [](const auto& row) {
             return row.second.waits_for_file && !row.second.has_result && !row.second.queue.empty();
           });
  };
  constexpr Clock::duration kLook = std::chrono::milliseconds(100);  // whether a caller is in a hurry
  do {
    const Clock::duration left = std::max(deadline - Clock::now(), Clock::duration(0));
    if (wake_.wait_for(lock, std::min(left, kLook), is_settled)) return has_work();
  } while (Clock::now() < deadline && !hurries());
  return false;
}

void Worker::stop_fetching() {
  if (!fetcher_) return;
  fetcher_->stop();
  const std::lock_guard lock(mutex_);
  for (auto& [id, module] : modules_) {
    if (!module.waits_for_file || module.has_result) continue;
    module.waits_for_file = false;
    fetches_.late.push_back(module.source->path.substr(module.source->path.rfind('/') + 1));
  }
}

std::string Worker::fetch_sentence() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> parts;
  const auto add = [&](const std::vector<std::string>& names, std::string_view text) {
    if (!names.empty()) parts.push_back(fmt::format("{} {}", text, fmt::join(names, ", ")));
  };
  add(fetches_.here, "debug files came for");
  add(fetches_.not_found, "no server has that of");
  add(fetches_.late, fmt::format("not there {:g} s after the end of the recording: that of",
                                 static_cast<double>(options_.fetch.wait_ns) * 1e-9));
  for (const auto& [name, why] : fetches_.failed)
    parts.push_back(fmt::format("that of {} could not be fetched: {}", name, why));
  return parts.empty() ? std::string() : fmt::format("debuginfod: {}", fmt::join(parts, "; "));
}

// Reported again when it improves: a perf map appears when its program has made the first code.
void Worker::tell_health(const Batch& batch) {
  Module& module = *batch.module;
  ModuleHealth health{batch.id, model::SymbolSource::kNone, {}, "out of memory", {}, {}, {}};
  if (module.symbols)
    health = {batch.id,
              module.symbols->source(),
              module.symbols->source_path(),
              module.symbols->problem(),
              module.symbols->lost(),
              module.symbols->main_crate(),
              module.symbols->compilers()};
  const bool first = batch.frames.empty(), lost = !health.lost.empty();
  if (!first && health.symbols == module.told_source && lost == module.told_lost) return;
  module.told_source = health.symbols;
  module.told_lost = lost;
  const std::lock_guard lock(mutex_);
  output_.modules.push_back(std::move(health));
}

void Worker::tidy() {
  const auto now = Clock::now();
  for (Module* module : loaded_modules()) {
    if (now - module->last_use >= kUnusedFor) module->symbols->release_memory();
    if (module->cache && module->cache->size() >= module->saved_size + kWorthSaving) save(*module);
  }
}

std::vector<Worker::Module*> Worker::loaded_modules() {
  const std::lock_guard lock(mutex_);  // submit() may be adding one
  std::vector<Module*> loaded;
  for (auto& [id, module] : modules_)
    if (module.symbols) loaded.push_back(&module);
  return loaded;
}

void Worker::save(Module& module) {
  if (!module.cache || module.cache->size() == module.saved_size) return;
  cache_directory_.save(module.source->identity, module.stamp, *module.cache);
  module.saved_size = module.cache->size();
}

}  // namespace fathom::symbolize
