#include "attach/inject/tracer/own_head.h"

#include <fmt/format.h>

#include <cstring>

namespace fathom::inject {

void OwnHead::publish(tracer_shared& shared) {
  shared_ = &shared;
  std::memcpy(shared_, own_.get(), sizeof(*own_));
}

Result<> OwnHead::note_mapping(ProcessAddress address, std::uint64_t bytes) {
  const u32 count = own_->own_count;
  if (count == TRACER_OWN_MAPPINGS)
    return fail(ErrorKind::kUnsupported, "heap tracer: hooks in too many modules");
  own_->own[count] = {address.value, bytes};
  own_->own_count = count + 1;
  if (shared_ == nullptr) return {};
  shared_->own[count] = own_->own[count];
  __atomic_store_n(&shared_->own_count, count + 1, __ATOMIC_RELEASE);
  return {};
}

Result<> OwnHead::note_change(tracer_hook_kind kind, ProcessAddress address,
                              std::span<const std::byte> before, std::span<const std::byte> after,
                              ProcessAddress module_start) {
  const u32 count = own_->journal_count;
  if (count == TRACER_JOURNAL)
    return fail(ErrorKind::kUnsupported,
                fmt::format("heap tracer: more than {} places to change", TRACER_JOURNAL));
  // An earlier change of this place disappeared with the library that was here before.
  for (u32 i = 0; i < count; ++i)
    if (own_->journal[i].address == address.value) own_->journal[i].in = 0;
  publish_what_is_in();
  tracer_journal_entry entry{};
  entry.address = address.value;
  std::memcpy(entry.before, before.data(), before.size());
  std::memcpy(entry.after, after.data(), after.size());
  entry.length = static_cast<u8>(before.size());
  entry.kind = static_cast<u8>(kind);
  entry.in = 1;
  entry.module_start = module_start.value;
  own_->journal[count] = entry;
  own_->journal_count = count + 1;
  if (shared_ == nullptr) return {};
  shared_->journal[count] = entry;
  // A process that reads the journal after our death sees complete entries only.
  __atomic_store_n(&shared_->journal_count, count + 1, __ATOMIC_SEQ_CST);
  return {};
}

void OwnHead::publish_what_is_in() {
  if (shared_ == nullptr) return;
  for (u32 i = 0; i < own_->journal_count; ++i)
    __atomic_store_n(&shared_->journal[i].in, own_->journal[i].in, __ATOMIC_RELEASE);
}

}  // namespace fathom::inject
