// A reader of a format whose files are many times as large as what is in them: it takes the file in pieces and keeps none.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

class StreamReader {
 public:
  StreamReader() = default;
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;
  virtual ~StreamReader() = default;

  virtual void add(std::string_view piece) = 0;  // the next bytes of the file, cut anywhere
  // The same of a piece that begins where the one before ended, in memory, too, and stays valid until finish().
  virtual void add_lasting(std::string_view piece) { add(piece); }
  virtual std::uint64_t samples() const = 0;    // read so far
  virtual Result<model::Profile> finish() = 0;  // once, after the last piece
};

}  // namespace fathom::formats
