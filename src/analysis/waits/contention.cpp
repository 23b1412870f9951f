#include "analysis/waits/contention.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "analysis/core/call_tree.h"
#include "base/stable_sort.h"
#include "model/parked_lock.h"

namespace fathom::analysis {
namespace {

class Draft {
 public:
  ContentionRow row;
  void add_waiter(std::string thread, std::string site, std::uint64_t ns, WaitWeight weight) {
    waiters_[{std::move(thread), std::move(site)}].add(ns, weight);
  }
  void add_releaser(std::string thread, std::string site, std::uint64_t ns, WaitWeight weight) {
    releasers_[{std::move(thread), std::move(site)}].add(ns, weight);
  }
  void add_turn(const model::Wait& wait) {
    turns_.push_back({wait.start_ns + wait.waited_ns, wait.thread, wait.waker, wait.weight});
  }
  void add_handed_on(std::uint64_t ns, WaitWeight weight) {
    handed_on_ns_ += static_cast<double>(weighted_ns(ns, weight));
  }
  ContentionRow finish() {
    row.handed_on = 2 * handed_on_ns_ > static_cast<double>(row.waits.sum().total_ns());
    row.waiters = sorted(waiters_);
    row.releasers = sorted(releasers_);
    find_holds();
    return std::move(row);
  }

 private:
  struct Turn {
    std::uint64_t end_ns = 0;  // of the wait
    model::ThreadId thread, waker;
    std::uint32_t weight = 1;
  };

  // A thread has the lock from the end of its own wait until it ends another thread's.
  void find_holds() {
    stable_sort_rows(turns_.begin(), turns_.end(),
                     [](const Turn& a, const Turn& b) { return a.end_ns < b.end_ns; });
    std::map<std::uint32_t, std::uint64_t> since;  // by thread
    for (const Turn& turn : turns_) {
      if (const auto holder = since.find(turn.waker.value); holder != since.end()) {
        row.holds.add(turn.end_ns - holder->second, turn.weight);
        since.erase(holder);
      }
      since[turn.thread.value] = turn.end_ns;
    }
  }

  using Parties = std::map<std::pair<std::string, std::string>, WaitSum>;
  static std::vector<PartyRow> sorted(const Parties& parties) {
    std::vector<PartyRow> rows;
    for (const auto& [who, sum] : parties) rows.push_back({who.first, who.second, sum});
    stable_sort_rows(rows.begin(), rows.end(), [](const PartyRow& a, const PartyRow& b) {
      return a.sum.total_ns() > b.sum.total_ns();
    });
    return rows;
  }
  Parties waiters_, releasers_;
  double handed_on_ns_ = 0;
  std::vector<Turn> turns_;
};

template <class Drafts>
std::vector<ContentionRow> finish(Drafts& drafts) {
  std::vector<ContentionRow> rows;
  for (auto& [key, draft] : drafts) rows.push_back(draft.finish());
  stable_sort_rows(rows.begin(), rows.end(), [](const ContentionRow& a, const ContentionRow& b) {
    return std::tuple(-a.waits.sum().total_ns(), a.name) < std::tuple(-b.waits.sum().total_ns(), b.name);
  });
  return rows;
}

}  // namespace

Contention find_contention(const Waits& waits, WaitSites& sites, const HandedOnFutexes& handed_on) {
  const model::Profile& profile = waits.profile();
  struct Lock {  // one of the three
    std::uint32_t object = 0;
    std::pair<std::int32_t, std::uint64_t> key = {};  // process and address
    std::string place;
    auto operator<=>(const Lock&) const = default;
  };
  std::map<Lock, Draft> by_object;
  std::map<std::pair<std::string, bool>, Draft> by_site;
  for (const SelectedWait& selected : waits.rows()) {
    if (selected.cause != Cause::kFutex || selected.idle || selected.waited_ns == 0) continue;
    const model::Wait& wait = waits.wait(selected);
    const std::string thread = thread_name(profile, wait.thread);
    const WaitSites::Place place = sites.of_wait(wait);
    const std::string site = place.text();
    const FutexUse use = futex_use(wait);
    const WaitWeight weight = waits.weight(selected);
    const auto fill = [&](Draft& draft, bool is_new) {
      if (is_new) {
        draft.row.kind = sites.futex_kind(wait.stack);
        draft.row.operation = use.operation;
        draft.row.is_private = use.is_private;
      }
      draft.row.waits.add(selected.waited_ns, weight);
      if (handed_on.contains(wait)) draft.add_handed_on(selected.waited_ns, weight);
      draft.add_waiter(thread, site, selected.waited_ns, weight);
      const bool known = wait.waker != model::kNoThread;
      // Where each thread of Rust begins says no more than the thread's name.
      std::string releaser = wait.waker_stack.value == 0 ? "" : sites.of(wait.waker_stack);
      if (releaser.ends_with("::__rust_begin_short_backtrace")) releaser.clear();
      draft.add_releaser(known ? thread_name(profile, wait.waker) : "", std::move(releaser),
                         selected.waited_ns, weight);
    };
    const auto [at_site, new_site] = by_site.try_emplace({place.name, place.released});
    if (new_site) {
      at_site->second.row.name = place.name;
      at_site->second.row.released = place.released;
    }
    fill(at_site->second, new_site);
    if (wait.object.value == 0) continue;
    const model::WaitObject& object = profile.objects[wait.object.value];
    const bool keyed = profile.strings[object.name] == model::kParkedLock;
    const bool parker = !keyed && sites.is_parker(wait.stack);
    const FutexKind kind = sites.futex_kind(wait.stack);
    // Of a reader-writer lock of parking_lot, a writer that waits for readers to leave queues at the address plus one.
    const std::uint64_t address =
        keyed && kind == FutexKind::kReaderWriter ? object.address & ~std::uint64_t{1} : object.address;
    const auto [at_object, new_object] =
        by_object.try_emplace(keyed ? Lock{0, {object.pid, address}, ""}
                                    : Lock{parker ? 0 : wait.object.value, {}, parker ? site : ""});
    if (new_object) {
      ContentionRow& row = at_object->second.row;
      if (parker) {
        row.name = "parked in " + site;
      } else {
        row.address = address;
        row.pid = object.pid;
        row.name = fmt::format("{:#x} of pid {}", address, object.pid);
      }
    }
    if (!parker && (kind == FutexKind::kLock || handed_on.contains(wait))) at_object->second.add_turn(wait);
    fill(at_object->second, new_object);
  }
  return {finish(by_object), finish(by_site)};
}

}  // namespace fathom::analysis
