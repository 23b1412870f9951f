// For tests: a database server that waits for everything that servers wait for. Used by the goldens of the
// text and of the JSON.
#pragma once

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {

inline model::Profile waiting_server() {
  using model::ObjectKind;
  HandMade hand;
  const auto app = hand.module("engine", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
  const auto libc = hand.module("libc.so.6", model::ModuleKind::kFile, model::SymbolSource::kDynsym);
  const auto kernel = hand.module("[kernel]", model::ModuleKind::kKernel, model::SymbolSource::kKallsyms);
  const auto process = hand.process(10, "engine");
  const auto engine = hand.thread(process, 10, "engine", 2'000'000'000);
  const auto worker = hand.thread(process, 11, "worker", 500'000'000);
  const auto idle1 = hand.thread(process, 12, "tokio-rt");
  const auto idle2 = hand.thread(process, 13, "tokio-rt");
  const auto account = [&](model::ThreadId id, double ran_s, double waited_s, double queued_s, int waits) {
    model::Thread& row = hand.profile.threads[id.value];
    row.ran_ns = static_cast<std::uint64_t>(ran_s * 1e9);
    row.waited_ns = static_cast<std::uint64_t>(waited_s * 1e9);
    row.queued_ns = static_cast<std::uint64_t>(queued_s * 1e9);
    row.waits = static_cast<std::uint64_t>(waits);
  };
  account(engine, 2, 7.8, 0.2, 142);
  account(worker, 0.5, 9.5, 0, 101);
  account(idle1, 0, 10, 0, 1);
  account(idle2, 0, 10, 0, 1);

  const auto main = hand.frame(app, {"main"});
  const auto get = hand.frame(app, {"std::sync::mutex::Mutex<T>::lock", "db::Table::get"});
  const auto find = hand.frame(app, {"db::Tree::find"});
  const auto commit = hand.frame(app, {"db::Log::commit"});
  const auto unlock = hand.frame(app, {"db::Log::release"});
  const auto serve = hand.frame(app, {"db::serve"});
  const auto run = hand.frame(app, {"db::Worker::run"});
  const auto context = hand.frame(app, {"tokio::runtime::scheduler::multi_thread::worker::Context::park"});
  const auto park = hand.frame(app, {"tokio::runtime::scheduler::multi_thread::park::Parker::park"});
  const auto futex = hand.frame(libc, {"syscall"});
  const auto fsync = hand.frame(libc, {"fsync"});
  const auto receive = hand.frame(libc, {"recvfrom"});
  const auto futex_wait = hand.frame(kernel, {"futex_wait"});
  const auto fault = hand.frame(kernel, {"asm_exc_page_fault"});
  const auto sync_file = hand.frame(kernel, {"vfs_fsync_range"});

  const auto lock = hand.object(ObjectKind::kFutex, "", 0x7f0000001000);
  const auto sleepers = hand.object(ObjectKind::kFutex, "", 0x7f0000002000);
  const auto database = hand.object(ObjectKind::kMappedFile, "/data/mdbx.dat");
  const auto log = hand.object(ObjectKind::kFile, "/data/x.log");
  const auto peer = hand.object(ObjectKind::kSocket, "10.0.0.1:5000");

  const auto at_find = hand.stack({main, serve, find});
  hand.sample(engine, at_find, 200);
  hand.sample(worker, hand.stack({run, commit}), 50);
  for (int i = 0; i < 100; ++i) {  // 3.8 s
    model::Wait& wait =
        hand.wait(engine, hand.stack({main, serve, find, fault}), "", i * 0.04, 38, 1, database);
    wait.state = model::WaitState::kUninterruptible;
    wait.argument = static_cast<std::uint64_t>(i) * 4096;
    model::Fault touched;
    touched.time_ns = wait.start_ns;
    touched.thread = engine;
    touched.stack = hand.stack({main, serve, find});
    touched.object = database;
    touched.offset = wait.argument;
    touched.major = true;
    hand.profile.faults.push_back(touched);
    if (i % 10 != 0) continue;
    touched.major = false;
    touched.weight = 64;
    hand.profile.faults.push_back(touched);
  }
  for (int i = 0; i < 40; ++i) {  // 1.6 s for a worker that writes the log
    const double at = 4.1 + i * 0.05;
    model::Wait& sync =
        hand.wait(worker, hand.stack({run, commit, fsync, sync_file}), "fsync", at - 0.001, 38, 0, log);
    sync.state = model::WaitState::kUninterruptible;
    model::Wait& wait =
        hand.wait(engine, hand.stack({main, serve, get, futex, futex_wait}), "futex", at, 40, 0, lock);
    wait.argument = 128;
    wait.waker = worker;
    wait.waker_stack = hand.stack({run, unlock, futex});
  }
  for (int i = 0; i < 2; ++i) {  // two that stand for twenty
    model::Wait& wait =
        hand.wait(engine, hand.stack({main, serve, receive}), "recvfrom", 7 + i, 20 + i * 10, 10, peer);
    wait.weight = 10;
    wait.argument = 4096;
    wait.result = i == 0 ? 1500 : -104;  // ECONNRESET
  }
  hand.wait(engine, at_find, "", 9, 0, 5);
  for (const auto thread : {idle1, idle2})
    hand.wait(thread, hand.stack({context, park, futex, futex_wait}), "futex", 0, 10'000, 0, sleepers)
        .argument = 128;

  model::Quality& quality = hand.profile.quality;
  quality.expected_samples = 250;
  quality.unwalked_waits = 18;
  quality.unwalked_ns = 610'000'000;
  quality.switches = 1000;
  quality.switch_ns = 400'000;
  return std::move(hand.profile);
}

}  // namespace fathom::analysis
