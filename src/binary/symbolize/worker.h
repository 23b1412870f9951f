// Names frames while the recording runs: on a thread of its own with the lowest priority, so that names are
// there when it stops, and the target keeps its CPU. Each frame is resolved once; names that cost DWARF are
// kept on disk for the next time. The files of the target are read by a process without rights (NameProcess).
//
// submit() and poll() cost a lock and a copy, and never wait for files. All functions may be called from any
// thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/inheriting_mutex.h"
#include "binary/symbolize/debug_fetcher.h"
#include "binary/symbolize/debug_files.h"
#include "binary/symbolize/module_symbols.h"
#include "binary/symbolize/name_process.h"
#include "binary/symbolize/options.h"
#include "binary/symbolize/symbol_cache.h"
#include "model/profile.h"

namespace fathom::symbolize {

class Worker {
 public:
  struct NamedFrame {
    model::FrameId frame;
    std::vector<Name> names;  // innermost first; never empty
  };
  struct ModuleHealth {
    model::ModuleId module;
    model::SymbolSource symbols = model::SymbolSource::kNone;
    std::string symbols_path;  // if not the module itself
    std::string problem;       // one line, "" if all is well
    // Why no more names come, although there might be some: the process that read them was ended. "": they
    // come.
    std::string lost;
    std::string main_crate;  // of a Rust program (ModuleSymbols)
    std::string compilers;
  };
  struct Output {
    std::vector<NamedFrame> frames;
    std::vector<ModuleHealth> modules;
  };

  explicit Worker(Options options);
  ~Worker();  // leaves undone what was not drained; saves the cache
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // A module, loaded in the background when a frame in it is to be named. A second time for one module is ignored.
  void submit(model::ModuleId module, ModuleSource source);
  // A frame to be named, by its lookup address. May come before its module.
  void submit(model::ModuleId module, model::FrameId frame, ElfAddress address);

  // What has become known since the last call. Frames without a name never appear.
  Output poll();

  // True if everything submitted so far is in poll(). Else the caller waits for the names: the thread gets the priority that it
  // has in drain(), until this returns true. A debug file that is being fetched is not waited for.
  bool is_done();

  // Returns when everything submitted so far is in poll(). Helps with the work, because the thread gets
  // little CPU on a busy machine; retries unnamed frames of a perf map. Waits for debug files being fetched
  // as long as FetchOptions say; then names are what they are without, and fetching stops. `most` limits the
  // time for reading names, in addition; if it runs out, or `hurry` returns true, the result is false, and
  // the rest has no names.
  bool drain(std::chrono::nanoseconds most = std::chrono::hours(24), const std::function<bool()>& hurry = {});

  // What became of the debug files that were fetched, in a sentence; "" if none was asked for.
  std::string fetch_sentence() const;

  // CPU time of naming: of the thread, of the process that reads the files, and of drain().
  std::uint64_t cpu_ns() const;
  // CPU time of the process that reads the files; 0 if they are read in this one.
  std::uint64_t reader_cpu_ns() const { return reader_ ? reader_->cpu_ns() : 0; }
  pid_t reader_pid() const { return reader_ ? reader_->pid() : -1; }  // -1: none runs

 private:
  using Clock = std::chrono::steady_clock;
  struct Frame {
    model::FrameId frame;
    ElfAddress address;
  };
  // `queue` and `source` belong to mutex_, the rest to work_mutex_.
  struct Module {
    std::optional<ModuleSource> source;
    std::vector<Frame> queue;
    bool loaded = false;
    std::unique_ptr<ModuleSymbols> symbols;
    std::optional<CachedNames> cache;
    std::string stamp;
    std::size_t saved_size = 0;  // of the cache, when it was last on disk
    std::vector<Frame> unnamed;  // of a perf map that may still grow
    Clock::time_point last_use{};
    model::SymbolSource told_source = model::SymbolSource::kNone;
    bool told_lost = false;
    // Its frames wait until the debug file is there, or is known not to come: a frame is named once. Under mutex_.
    bool waits_for_file = false, has_result = false;
  };
  struct Batch {
    model::ModuleId id;
    Module* module = nullptr;
    std::vector<Frame> frames;
  };

  void run();
  bool has_work() const;  // under mutex_
  static bool may_be_named(const Module& module) { return !module.waits_for_file || module.has_result; }
  void ask_for_file(Module& module);
  void take_file(Module& module);
  void load_cache(Module& module);
  void raise_priority();  // under mutex_
  void note_results();    // on the thread of the fetcher
  void stop_fetching();
  // false: none is under way any more, or it is late
  bool wait_for_files(std::chrono::steady_clock::time_point deadline, const std::function<bool()>& hurries);
  std::optional<Batch> next_batch();  // takes mutex_
  bool step();                        // under work_mutex_; false: there was nothing to do
  std::unique_ptr<ModuleSymbols> open(const Batch& batch, const ModuleSource& source);
  void load(const Batch& batch, const ModuleSource& source);
  void resolve(Batch& batch);
  void tell_health(const Batch& batch);
  void tidy();  // under work_mutex_
  void save(Module& module);
  std::vector<Module*> loaded_modules();  // under work_mutex_; takes mutex_

  Options options_;
  DebugFiles debug_files_;
  CacheDirectory cache_directory_;
  std::unique_ptr<NameProcess> reader_;  // null: files are read here

  std::mutex work_mutex_;          // taken before mutex_
  mutable InheritingMutex mutex_;  // the thread may hold it and have no CPU
  InheritingCondition wake_;
  bool stop_ = false;
  std::map<model::ModuleId, Module> modules_;  // rows never move
  Output output_;
  std::atomic<std::uint64_t> drain_cpu_ns_{0};
  struct Fetches {
    std::vector<std::string> here, not_found, late;           // names of modules
    std::vector<std::pair<std::string, std::string>> failed;  // with the reason
  };
  Fetches fetches_;  // under mutex_
  pid_t tid_ = 0;
  bool may_raise_priority_ = false, is_raised_ = false;
  bool is_due_ = false;                    // under mutex_: a caller waits in drain(), maybe not for long
  std::unique_ptr<DebugFetcher> fetcher_;  // null: nothing is fetched
  std::thread thread_;                     // last: it uses all of the above
};

}  // namespace fathom::symbolize
