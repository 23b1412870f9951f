#include "cli/save_recording.h"

#include "model/store/writer.h"

namespace fathom::cli {

Result<> save_recording(const model::Profile& profile, const std::string& path, bool force) {
  Result<store::Writer> writer = store::Writer::create(path, {.overwrite = force, .force = force});
  if (!writer) return tl::unexpected(writer.error());
  if (const Result<> finished = writer->finish(profile); !finished) return finished;
  return writer->ensure_there();
}

}  // namespace fathom::cli
