// The profiler's knowledge of its tracer in a process: layout, journal and own mappings, in the profiler's
// own memory. The target can write to every byte of the shared memory, so its copy of all this is write-only:
// it serves a later process after a kill -9 (stale_tracer.h). Nothing here reads it back.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/abi/heap_tracer.h"
#include "base/address.h"
#include "base/result.h"

namespace fathom::inject {

class OwnHead {
 public:
  explicit OwnHead(const tracer_shared& planned) : own_(std::make_unique<tracer_shared>(planned)) {}

  // The head as planned; words that change later (orders, counters) are not updated here.
  const tracer_shared& layout() const { return *own_; }
  tracer_shared& plan() { return *own_; }  // before publish()
  // Writes all of it to the shared memory, and from now on every change as well. `shared` outlives the
  // object.
  void publish(tracer_shared& shared);

  // Call both before making the change in the target. An error: there is no room.
  Result<> note_mapping(ProcessAddress address, std::uint64_t bytes);
  Result<> note_change(tracer_hook_kind kind, ProcessAddress address, std::span<const std::byte> before,
                       std::span<const std::byte> after, ProcessAddress module_start);
  std::span<const tracer_own_mapping> mappings() const { return {own_->own, own_->own_count}; }
  std::span<const tracer_journal_entry> journal() const { return {own_->journal, own_->journal_count}; }
  std::span<tracer_journal_entry> journal() { return {own_->journal, own_->journal_count}; }
  // Publishes which changes are still in place, after take_back() has marked them in journal().
  void publish_what_is_in();

 private:
  std::unique_ptr<tracer_shared> own_;
  tracer_shared* shared_ = nullptr;  // write-only
};

}  // namespace fathom::inject
