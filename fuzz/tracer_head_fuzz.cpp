// The head of the tracer's shared memory with its journal, which a target can write to: any content is
// rejected with a reason, or the result is valid and allows only writes that agree with a module's file. This
// process stands in for the target.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "attach/inject/tracer/restoration.h"
#include "attach/inject/tracer/shared_layout.h"
#include "attach/inject/tracer/shared_view.h"
#include "base/cursor.h"

namespace {

using namespace fathom;
using namespace fathom::inject;

void require(bool holds) {
  if (!holds) std::abort();
}

// A head as left by a killed profiler, with two changes: one of text and one of data.
const tracer_shared& sound_head() {
  static const tracer_shared head = [] {
    Options options;
    options.mappings = options.pages = options.rows = options.rules = 16;
    options.ring_count = 2;
    options.ring_bytes = 4096;
    tracer_shared made = lay_out(options).value();
    made.own_count = 3;
    for (std::uint64_t i = 0; i < made.own_count; ++i) made.own[i] = {0x10000000 * (i + 1), 0x1000};
    made.journal_count = 2;
    made.journal[0].address = reinterpret_cast<std::uint64_t>(&std::abort);
    std::memcpy(made.journal[0].before, reinterpret_cast<const void*>(&std::abort), 8);
    made.journal[0].length = 8;
    made.journal[0].kind = TRACER_HOOK_ENTRY;
    made.journal[1].address = reinterpret_cast<std::uint64_t>(&made) & ~std::uint64_t{7};
    made.journal[1].length = 8;
    made.journal[1].kind = TRACER_HOOK_SLOT;
    made.journal[0].in = made.journal[1].in = 1;
    return made;
  }();
  return head;
}

struct Here {
  RemoteMemory memory = RemoteMemory::open(::getpid()).value();
  std::vector<process::MapEntry> maps = process::read_maps(::getpid()).value();
  OwnPlaces places;  // there is no tracer
  ModuleFiles files{::getpid(), maps};
};

}  // namespace

// Input: the mapped size, then changes of a valid head: offset, number of bytes, bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Here here;
  auto head = std::make_unique<tracer_shared>(sound_head());
  Cursor in(std::as_bytes(std::span(data, size)));
  const auto how = in.read<std::uint8_t>();
  const std::uint64_t mapped = how == 0 ? head->bytes : in.read<std::uint64_t>();
  auto* bytes = reinterpret_cast<std::byte*>(head.get());
  while (!in.at_end()) {
    const std::size_t at = in.read<std::uint16_t>();
    const auto change = in.read_bytes(std::min<std::size_t>(in.read<std::uint8_t>(), in.remaining()));
    for (std::size_t i = 0; i < change.size() && at + i < sizeof(*head); ++i) bytes[at + i] = change[i];
  }
  const auto view = check_head(*head, mapped);
  if (!view) {
    require(!view.error().message.empty() && view.error().message.find('\n') == std::string::npos);
    return 0;
  }
  require(view->own.size() <= TRACER_OWN_MAPPINGS && view->journal.size() <= TRACER_JOURNAL);
  for (const auto& own : view->own) require(own.bytes != 0 && own.address + own.bytes > own.address);
  for (const auto& entry : view->journal) {
    require(entry.length >= 1 && entry.length <= sizeof(entry.before));
    require(entry.kind == TRACER_HOOK_SLOT ? entry.length == 8 : entry.kind == TRACER_HOOK_ENTRY);
    require(entry.address + entry.length > entry.address);
  }
  Restorer restorer(here.memory, here.maps, here.places, here.files);
  const Restoration allowed = restorer.by_journal(view->journal);
  for (const auto& entry : allowed.changes) {
    // No word of data holds an address of a tracer, so only text may be written, and only with its own
    // content.
    require(entry.kind == TRACER_HOOK_ENTRY);
    const process::MapEntry* mapping = here.files.mapping_of(entry.address, entry.length);
    require(mapping != nullptr && ModuleFiles::is_text(*mapping));
    require(std::memcmp(reinterpret_cast<const void*>(entry.address), entry.before, entry.length) == 0);
  }
  return 0;
}
