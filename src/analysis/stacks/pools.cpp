#include "analysis/stacks/pools.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/core/call_tree.h"
#include "analysis/core/idle.h"
#include "analysis/core/shown_calls.h"

namespace fathom::stacks {
namespace {

// The start of a thread in the C library, in the language's library, and the thread's own function.
constexpr std::size_t kBeginning = 4;

// A result that another thread is to deliver.
constexpr std::array<std::string_view, 12> kResultWaits = {
    "std::future<*>::get*",
    "std::__basic_future<*>::*",
    "std::shared_future<*>::get*",
    "std::__future_base::_State_base*::wait*",
    "std::__future_base::_State_base*::_M_complete_async*",
    "boost::*future<*>::get*",
    "folly::Future<*>::get*",
    "tokio::sync::oneshot::*::blocking_recv*",
    "*tokio::runtime::*::block_on*",
    "*futures_executor::local_pool::block_on*",
    "*pollster::block_on*",
    "*futures_lite::future::block_on*",
};
// The pools of executors, whose threads begin like all others of the language. What holds first counts.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPools = {{
    {"*tokio::runtime::scheduler::multi_thread::worker::run*", "tokio worker"},
    {"*tokio::runtime::blocking::pool::Inner::run*", "tokio blocking pool"},
    {"*rayon_core::registry::ThreadBuilder::run*", "rayon"},
}};

bool is_result_wait(const std::vector<std::string>& calls) {
  return std::ranges::any_of(calls, [](const std::string& name) {
    return std::ranges::any_of(kResultWaits,
                               [&](std::string_view glob) { return analysis::matches_glob(glob, name); });
  });
}

std::string pool_of(std::int32_t pid, const std::vector<std::string>& calls) {
  std::string key = std::to_string(pid);
  for (const auto& pool : kPools)
    if (std::ranges::any_of(
            calls, [&](const std::string& call) { return analysis::matches_glob(pool.first, call); }))
      return key.append(" ").append(pool.second);
  for (std::size_t i = 0; i < std::min(kBeginning, calls.size()); ++i)
    key.append(" < ").append(calls[calls.size() - 1 - i]);
  return key;
}

}  // namespace

std::vector<std::vector<std::size_t>> exhausted_pools(const model::Profile& profile, const Look& look) {
  struct Pool {
    std::vector<std::size_t> threads;
    bool exhausted = true;
  };
  std::map<std::string, Pool> pools;
  const analysis::ShownCalls all(profile, nullptr);
  for (std::size_t i = 0; i < look.threads.size(); ++i) {
    const ThreadLook& thread = look.threads[i];
    // The main thread is of no pool.
    if (thread.tid == thread.pid) continue;
    std::vector<std::string> calls;
    all.visit(thread.stack, 0, [&](model::FrameId frame, std::uint32_t line) {
      if (profile.modules[profile.frames[frame.value].module.value].kind != model::ModuleKind::kKernel)
        calls.push_back(analysis::frame_name(profile, frame, line));
      return true;
    });
    if (calls.empty()) continue;
    Pool& pool = pools[pool_of(thread.pid, calls)];
    pool.threads.push_back(i);
    pool.exhausted = pool.exhausted && thread.state == State::kWaits && thread.idle.empty() &&
                     thread.awaited.cause == analysis::Cause::kFutex && !thread.awaited.has_timeout &&
                     is_result_wait(calls);
  }
  std::vector<std::vector<std::size_t>> found;
  for (auto& [key, pool] : pools)
    if (pool.exhausted && pool.threads.size() >= 2) found.push_back(std::move(pool.threads));
  std::ranges::sort(found);
  return found;
}

}  // namespace fathom::stacks
