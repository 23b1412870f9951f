// A recording of a large server: samples of 20,000 different stacks of 40 frames in 32 threads with four
// names. Three quarters of a stack are shared by many stacks, the rest is its own; few stacks are common,
// most are rare. The same every time.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "model/profile.h"

namespace fathom::bench {

struct BigProfile {
  int samples = 1'000'000;
  // After a change: functions have the numbers of another build, and common frequencies differ by a few
  // percent.
  bool after = false;
};

inline model::Profile big_profile(const BigProfile& wanted) {
  constexpr int kFunctions = 5'000, kStacks = 20'000, kDepth = 40, kThreads = 32;
  constexpr std::uint64_t kApart_ns = 31'250;  // 32 threads at 1,000 Hz
  model::Profile profile;
  model::Builder builder(profile);
  std::mt19937_64 random(1);
  model::Module module;
  module.kind = model::ModuleKind::kFile;
  module.name = builder.string("server");
  module.path = builder.string("/usr/bin/server");
  const model::ModuleId server = builder.module(module);
  std::vector<model::FrameId> frames;
  for (int i = 0; i < 4 * kFunctions; ++i) {
    const std::string name = "server::module_" + std::to_string(i % 37) + "::function_" +
                             std::to_string(i % kFunctions) + (wanted.after ? ".llvm.7" : "");
    frames.push_back(builder.frame(server, ElfAddress{0x1000 + static_cast<std::uint64_t>(i) * 16}));
    std::vector<model::Builder::NamedLine> lines{{name, "", 0}};
    if (i % 10 == 0) lines.insert(lines.begin(), {"alloc::vec::Vec<T>::push", "", 0});
    builder.name_frame(frames.back(), lines);
  }
  std::vector<model::StackId> stacks;
  for (int i = 0; i < kStacks; ++i) {
    model::StackId stack{0};
    std::mt19937_64 shared(static_cast<std::uint64_t>(i % 200));
    for (int depth = 0; depth < kDepth; ++depth)
      stack = builder.stack(stack, frames[(depth < kDepth * 3 / 4 ? shared() : random()) % frames.size()]);
    stacks.push_back(stack);
  }
  profile.processes.push_back({});
  for (int i = 0; i < kThreads; ++i) {
    model::Thread thread;
    thread.tid = i + 1;
    thread.name = builder.string(std::string("worker ") + "abcd"[i % 4]);
    profile.threads.push_back(thread);
  }
  profile.meta.engine = "bpf";
  profile.meta.event = "cpu-clock";
  profile.meta.frequency_hz = 1000;
  profile.meta.start_ns = 1'000'000'000;
  for (int i = 0; i < wanted.samples; ++i) {
    model::Sample sample;
    sample.time_ns = profile.meta.start_ns + static_cast<std::uint64_t>(i) * kApart_ns;
    sample.thread = {static_cast<std::uint32_t>(random() % kThreads)};
    const double place = std::uniform_real_distribution<double>(0, 1)(random);
    sample.stack = stacks[static_cast<std::size_t>(place * place * (wanted.after ? 1 : place) * kStacks)];
    profile.samples.push_back(sample);
  }
  profile.meta.end_ns = profile.meta.start_ns + static_cast<std::uint64_t>(wanted.samples) * kApart_ns;
  profile.quality.samples = profile.samples.size();
  return profile;
}

}  // namespace fathom::bench
