// Any bytes as a heap dump: rejected in one line, or read as a valid profile, alone and as a series with
// itself.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/dumps/merge.h"
#include "formats/dumps/trim.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Result<formats::HeapDump> dump = formats::read_heap_dump(text, "fuzz");
  if (!dump) {
    if (dump.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  // Does not open files that a dump names: files on the disk are not part of the input.
  dump->maps.clear();
  std::vector<dumps::DumpFile> files;
  for (const char* name : {"x.1.0.i0.heap", "x.1.1.i1.heap"})
    files.push_back({name, formats::parse_dump_name(name), 0, *dump});
  for (const dumps::Merge::Kind kind :
       {dumps::Merge::Kind::kLatest, dumps::Merge::Kind::kAll, dumps::Merge::Kind::kMean}) {
    Result<model::Profile> profile = dumps::merge_dumps(files, {kind, 0}, {}, {});
    if (!profile) continue;  // sums that are not numbers any more
    dumps::trim_allocator_frames(*profile);
    if (!model::check(*profile)) std::abort();
  }
  return 0;
}
