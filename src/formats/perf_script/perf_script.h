// The text of `perf script`, as it is shared in bug reports and read by every flame graph tool. What was
// recorded by others can so be looked at; recordings of our own never take this way.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/import/stream_reader.h"
#include "model/profile.h"

namespace fathom::formats {

// Whether the first lines look like it.
bool is_perf_script(std::string_view text);

// Every event becomes a sample of metric cpu; its value is the event's period, or 1 where none is printed.
// All events of a file are added up, and a note says so when there are several. meta.facts["unit"] is "ns"
// for the clock events, the event's name otherwise, and absent when no line has a period. Names only, no
// addresses: calls inlined into a frame become lines of it, "[unknown]" in a module becomes "[module]". Lines
// of a stack that cannot be read are skipped; a note counts them. `name` is the file's, for messages.
// kMalformed when there is no event at all.
Result<model::Profile> read_perf_script(std::string_view text, const std::string& name);

// The same of a text that comes in pieces.
class PerfScriptReader : public StreamReader {
 public:
  explicit PerfScriptReader(std::string name);
  ~PerfScriptReader() override;
  void add(std::string_view piece) override;
  std::uint64_t samples() const override;
  Result<model::Profile> finish() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fathom::formats
