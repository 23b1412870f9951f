#include "formats/readers.h"

#include <algorithm>

#include "formats/bytehound/bytehound.h"
#include "formats/firefox/firefox.h"
#include "formats/folded/folded.h"
#include "formats/gperftools/cpu_profile.h"
#include "formats/heaptrack/heaptrack.h"
#include "formats/perf_data/perf_data.h"
#include "formats/perf_script/perf_script.h"
#include "formats/pprof/pprof.h"
#include "formats/speedscope/speedscope.h"
#include "formats/v8/v8.h"
#include "formats/valgrind/callgrind.h"
#include "formats/valgrind/dhat.h"
#include "formats/valgrind/massif.h"

namespace fathom::formats {
namespace {

template <class Stream>
std::unique_ptr<StreamReader> stream_of(const std::string& name) {
  return std::make_unique<Stream>(name);
}

constexpr Reader kReaders[] = {
    {"heaptrack", is_heaptrack, read_heaptrack},
    {"perf.data", is_perf_data,
     [](std::string_view bytes, const std::string& name) { return read_perf_data(bytes, name); }},
    {"bytehound", is_bytehound, read_bytehound},
    {"pprof", is_pprof, read_pprof},
    {"gperftools CPU profile", is_gperftools_cpu, read_gperftools_cpu},
    {"dhat", is_dhat, read_dhat},
    {"massif", is_massif, read_massif},
    {"callgrind", is_callgrind, read_callgrind},
    {"firefox", is_firefox, read_firefox},
    {"speedscope", is_speedscope, read_speedscope},
    {"cpuprofile", is_cpu_profile, read_cpu_profile},
    {"heapprofile", is_heap_profile, read_heap_profile},
    {"perf script", is_perf_script, read_perf_script, stream_of<PerfScriptReader>},
    {"folded", is_folded, read_folded, stream_of<FoldedReader>},
};

}  // namespace

std::span<const Reader> readers() {
  return kReaders;
}

const Reader* reader_of(std::string_view content) {
  const auto reader =
      std::ranges::find_if(kReaders, [&](const Reader& row) { return row.recognises(content); });
  return reader == std::end(kReaders) ? nullptr : reader;
}

}  // namespace fathom::formats
