// For tests: a profile written down stack by stack.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/abi/walk.h"
#include "model/profile.h"
#include "model/system_call.h"

namespace fathom::analysis {

class HandMade {
 public:
  HandMade() : builder(profile) {
    profile.meta.target = "hand (pid 10)";
    profile.meta.engine = "bpf";
    profile.meta.event = "cpu-clock";
    profile.meta.frequency_hz = 100;
    profile.meta.start_ns = 1'000'000'000;
    profile.meta.end_ns = 11'000'000'000;
    profile.meta.facts["cpus"] = "2";
  }

  model::ModuleId module(std::string_view name, model::ModuleKind kind = model::ModuleKind::kFile,
                         model::SymbolSource symbols = model::SymbolSource::kSymtab) {
    model::Module row;
    row.kind = kind;
    row.name = builder.string(name);
    row.path = builder.string(kind == model::ModuleKind::kFile ? "/usr/bin/" + std::string(name) : "");
    row.symbols = symbols;
    return builder.module(row);
  }
  model::ProcessId process(std::int32_t pid, std::string_view name) {
    model::Process row;
    row.pid = pid;
    row.name = builder.string(name);
    profile.processes.push_back(row);
    return {static_cast<std::uint32_t>(profile.processes.size() - 1)};
  }
  model::ThreadId thread(model::ProcessId process, std::int32_t tid, std::string_view name,
                         std::uint64_t cpu_ns = 0) {
    model::Thread row;
    row.process = process;
    row.tid = tid;
    row.name = builder.string(name);
    row.cpu_ns = cpu_ns;
    profile.threads.push_back(row);
    return {static_cast<std::uint32_t>(profile.threads.size() - 1)};
  }
  // A frame named by `names`, innermost first: all but the last were inlined into it.
  model::FrameId frame(model::ModuleId module, const std::vector<std::string>& names) {
    std::vector<model::Builder::NamedLine> lines;
    for (const std::string& name : names) lines.push_back({name, "", 0});
    const model::FrameId id = builder.frame(module, ElfAddress{next_address_ += 16});
    builder.name_frame(id, lines);
    return id;
  }
  model::FrameId unnamed(model::ModuleId module, std::uint64_t address) {
    return builder.frame(module, ElfAddress{address});
  }
  // Root first.
  model::StackId stack(const std::vector<model::FrameId>& frames) {
    model::StackId id{0};
    for (const model::FrameId frame : frames) id = builder.stack(id, frame);
    return id;
  }
  // `count` samples, one every 10 ms, from `from_s` seconds after the start.
  void sample(model::ThreadId thread, model::StackId stack, int count, double from_s = 0,
              model::Metric metric = model::Metric::kCpu, std::int64_t value = 1) {
    for (int i = 0; i < count; ++i) {
      model::Sample row;
      row.time_ns = profile.meta.start_ns + static_cast<std::uint64_t>(from_s * 1e9) +
                    static_cast<std::uint64_t>(i) * 10'000'000;
      row.value = value;
      row.thread = thread;
      row.stack = stack;
      row.metric = metric;
      row.end = WALK_ROOT;
      profile.samples.push_back(row);
    }
    profile.quality.samples += static_cast<std::uint64_t>(count);
    profile.quality.complete += static_cast<std::uint64_t>(count);
  }

  model::WaitObjectId object(model::ObjectKind kind, std::string_view name, std::uint64_t address = 0) {
    const model::WaitObject row{kind, builder.string(name), address,
                                kind == model::ObjectKind::kFutex ? 10 : 0};
    profile.objects.push_back(row);
    return {static_cast<std::uint32_t>(profile.objects.size() - 1)};
  }
  // From `from_s` seconds after the start; `call` is a name, "" for none. More is set in the row that it
  // gives, which stays where it is until the next wait.
  model::Wait& wait(model::ThreadId thread, model::StackId stack, std::string_view call, double from_s,
                    double waited_ms, double queued_ms = 0, model::WaitObjectId object = {}) {
    model::Wait row;
    row.start_ns = profile.meta.start_ns + static_cast<std::uint64_t>(from_s * 1e9);
    row.waited_ns = static_cast<std::uint64_t>(waited_ms * 1e6);
    row.queued_ns = static_cast<std::uint64_t>(queued_ms * 1e6);
    row.thread = thread;
    row.stack = stack;
    row.object = object;
    for (std::int32_t number = 0; number < 512 && !call.empty() && row.system_call < 0; ++number) {
      if (model::system_call_name(number) == call) row.system_call = number;
    }
    row.state = waited_ms > 0 ? model::WaitState::kInterruptible : model::WaitState::kPreempted;
    row.end = WALK_ROOT;
    profile.waits.push_back(row);
    ++profile.quality.waits;
    return profile.waits.back();
  }

  model::Profile profile;
  model::Builder builder;

 private:
  std::uint64_t next_address_ = 0x1000;
};

// A small server: a busy main thread and a worker, recursion, an inlined call, kernel frames, a stripped
// library, and wrong bytes in a name. Used by the goldens of the text and of the JSON.
inline model::Profile small_server() {
  HandMade hand;
  const auto app = hand.module("server", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
  const auto libc = hand.module("libc.so.6", model::ModuleKind::kFile, model::SymbolSource::kDynsym);
  const auto stripped = hand.module("libcodec.so", model::ModuleKind::kFile, model::SymbolSource::kNone);
  const auto kernel = hand.module("[kernel]", model::ModuleKind::kKernel, model::SymbolSource::kKallsyms);
  const auto process = hand.process(10, "server");
  const auto main_thread = hand.thread(process, 10, "server", 7'100'000'000);
  const auto worker = hand.thread(process, 11, "worker-1", 2'000'000'000);

  const auto start = hand.frame(libc, {"__libc_start_main"});
  const auto main = hand.frame(app, {"main"});
  const auto parse =
      hand.frame(app, {"alloc::vec::Vec<server::request::Header>::push", "server::request::parse"});
  const auto walk =
      hand.frame(app, {"<server::tree::Node<alloc::string::String> as server::tree::Visit>::walk"});
  const auto write = hand.frame(libc, {"write"});
  const auto sys_write = hand.frame(kernel, {"ksys_write"});
  const auto run = hand.frame(app, {"server::pool::Worker::run(std::sync::Arc<server::pool::Queue>, bool)"});
  const auto codec = hand.unnamed(stripped, 0x1f40);
  const auto odd = hand.frame(app, {"bad\xff\xfe\nname"});

  hand.sample(main_thread, hand.stack({start, main, parse}), 300);
  hand.sample(main_thread, hand.stack({start, main, walk, walk, walk}), 250, 3);
  hand.sample(main_thread, hand.stack({start, main, walk}), 50, 5.5);
  hand.sample(main_thread, hand.stack({start, main, write, sys_write}), 100, 6);
  hand.sample(worker, hand.stack({run, codec}), 196, 7);
  hand.sample(worker, hand.stack({run, odd}), 4, 9);

  model::Quality& quality = hand.profile.quality;
  quality.expected_samples = 910;
  quality.lost_ring_full = 3;
  quality.complete = 890;
  quality.early_ends.push_back({WALK_NO_RULE, stripped, 10});
  quality.profiler_cpu_ns = 120'000'000;
  quality.profiler_rss_bytes = 34 << 20;
  quality.bpf_ns = 5'000'000;
  quality.bpf_runs = 903;
  quality.notes.push_back("the kernel's names are those of /proc/kallsyms");
  model::Series memory;
  memory.name = hand.builder.string("memory.rss_anon");
  memory.unit = hand.builder.string("bytes");
  memory.pid = 10;
  memory.points = {{1'000'000'000, 10 << 20}, {6'000'000'000, 30 << 20}, {11'000'000'000, 20 << 20}};
  hand.profile.series.push_back(memory);
  return std::move(hand.profile);
}

}  // namespace fathom::analysis
