// The names of a foreign file as people write them (symbolize::source_name): perf without a demangler and callgrind with
// --demangle=no leave what the linker knows, others keep Rust's hashes. fathom's own recordings have neither, and `diff` compares
// by name.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace fathom::formats {

// The text behind what it returns is its own: it outlives the frame that is made of it. Not thread-safe.
class SourceNames {
 public:
  // `written` itself where that is the name already, as nearly always.
  std::string_view of(std::string_view written);
  void replace_in(std::vector<model::Builder::NamedLine>& lines);

 private:
  std::deque<std::string> texts_;
};

}  // namespace fathom::formats
