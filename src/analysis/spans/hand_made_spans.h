// For tests: an engine whose spans run for 3 ms, and of which every 20th also has a planted cause of 20 ms.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {

class HandMadeSpans : public HandMade {
 public:
  HandMadeSpans() {
    app = module("node", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
    libc = module("libc.so.6", model::ModuleKind::kFile, model::SymbolSource::kDynsym);
    kernel = module("[kernel]", model::ModuleKind::kKernel, model::SymbolSource::kKallsyms);
    const auto process = this->process(10, "node");
    engine = thread(process, 10, "engine");
    persistence = thread(process, 11, "persistence");
    disk = thread(process, 12, "disk");
    main = frame(app, {"node::main"});
    execute = frame(app, {"node::execute_block"});
    flush = frame(app, {"node::Persistence::flush"});
    futex_wait = frame(kernel, {"futex_wait"});
    lock = frame(libc, {"pthread_mutex_lock"});
    condition = frame(libc, {"pthread_cond_wait"});
    malloc = frame(libc, {"malloc"});
    fsync = frame(libc, {"fsync"});
    sync_file = frame(kernel, {"vfs_fsync_range"});
    fault = frame(kernel, {"asm_exc_page_fault"});
    word = object(model::ObjectKind::kFutex, "", 0x7000);
    file = object(model::ObjectKind::kFile, "/data/persist.dat");
    mapped = object(model::ObjectKind::kMappedFile, "/data/mdbx.dat");
  }

  std::uint64_t at(double ms) const { return profile.meta.start_ns + static_cast<std::uint64_t>(ms * 1e6); }
  void span(const char* name, double from_ms, double ms, model::ThreadId thread, std::uint64_t id = 0) {
    profile.spans.push_back(
        {at(from_ms), at(from_ms + ms), builder.string(name), thread, model::SpanSource::kMarkerFile, id, 0});
  }
  // Samples of a millisecond each.
  void runs(model::ThreadId thread, model::StackId stack, double from_ms, int count) {
    for (int i = 0; i < count; ++i) sample(thread, stack, 1, (from_ms + i) / 1000);
  }

  // plant(from_ms) adds the cause of 20 ms to a slow span.
  template <class Plant>
  void spans_with(std::uint64_t seed, int count, const Plant& plant) {
    std::mt19937_64 random(seed);
    double now = 1;
    for (int i = 0; i < count; ++i) {
      const double ran = 3 + static_cast<double>(random() % 1000) / 2000;
      runs(engine, stack({main, execute}), now + 0.2, 3);
      const bool slow = i % 20 == 7;
      if (slow) plant(now + ran);
      span("new_payload", now, ran + (slow ? 20 : 0), engine);
      now += ran + (slow ? 20 : 0) + 1;
    }
    profile.meta.end_ns = at(now + 10);
  }

  model::ModuleId app, libc, kernel;
  model::ThreadId engine, persistence, disk;
  model::FrameId main, execute, flush, futex_wait, lock, condition, malloc, fsync, sync_file, fault;
  model::WaitObjectId word, file, mapped;
};

}  // namespace fathom::analysis
