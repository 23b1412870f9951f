#include "capture/source.h"

namespace fathom::capture {

Result<std::unique_ptr<Source>> open_perf_source(const RecordOptions&) {
  return fail(ErrorKind::kUnsupported, "perf: not there");
}

}  // namespace fathom::capture
