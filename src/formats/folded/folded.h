// Folded stacks: one line per stack, "frame;frame;frame COUNT", root first. The text that flamegraph.pl,
// inferno and speedscope read and that stackcollapse-*, py-spy and bpftrace scripts write. There is no
// escaping and no header.
//
// The first frame is the thread's name. Kernel frames end in "_[k]", inlined calls in "_[i]", code made at
// run time in "_[j]" (the suffixes of stackcollapse-perf --all). Where the first frame is a function with its place, as
// profilers of scripts write it (source_frame.h), it is a frame, and the threads have no names; austin's "P42;T7" are
// a process and a thread. Source: the parsers of those tools. A tree is written as such a text by present/exports.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/import/stream_reader.h"
#include "model/profile.h"

namespace fathom::formats {

// By the first lines: at least half of them are stacks with a count. Where no stack has a second frame, all of them are.
bool is_folded(std::string_view text);

// One sample per line, the count its value; where a comment says "mode: wall", as austin's do, it is no CPU time. Also reads: decimal fractions (all values become thousandths), two columns in every line (a difference: the second
// is taken, and a note says so), Windows line ends, empty lines, comments ("# ..."). A line without a count, such as one that
// was cut short, costs itself: a note counts such lines and shows the first. `name` is the file's, for messages. kMalformed
// where there is no stack at all.
Result<model::Profile> read_folded(std::string_view text, const std::string& name);

// The same of a text that comes in pieces, and is many times as large as what is in it. Whether its lines have two columns is
// decided by the first ones.
class FoldedReader : public StreamReader {
 public:
  explicit FoldedReader(std::string name);
  ~FoldedReader() override;
  void add(std::string_view piece) override;
  // Lines are cut and hashed in a thread of its own, if the machine has a second processor.
  void add_lasting(std::string_view piece) override;
  std::uint64_t samples() const override;
  Result<model::Profile> finish() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fathom::formats
