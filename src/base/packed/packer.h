// Text that is packed while it is made: formats that hold every call are a hundred times smaller so.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::packed {

enum class Packing { kNone, kGzip, kZstd };

// By the ending of a file's name: ".gz", ".zst".
Packing packing_of(std::string_view path);

class Packer {
 public:
  explicit Packer(Packing packing);
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;
  ~Packer();
  void add(std::string_view text);
  // All of it; once. kSystem if the library failed on the way.
  Result<std::string> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fathom::packed
