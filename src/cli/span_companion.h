// `record --spans FILE`: at the end of the recording, the spans that the program wrote by then are stored in it. During the
// recording only the times in which threads were off their CPU are kept, to find the thread of files that do not name it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/spans/add_spans.h"
#include "record/session/companion.h"

namespace fathom::cli {

class SpanCompanion final : public session::Companion {
 public:
  explicit SpanCompanion(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  Save before_save(const Lent& lent, bool last) override;

 private:
  std::vector<std::string> paths_;
  std::vector<formats::AsleepTime> asleep_;
};

}  // namespace fathom::cli
