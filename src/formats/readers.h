// The foreign formats that can be read: one row each. A new format is one row more, and every front end has it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/import/stream_reader.h"
#include "model/profile.h"

namespace fathom::formats {

struct Reader {
  std::string_view format;                       // "perf script": as in meta.facts["format"]
  bool (*recognises)(std::string_view content);  // looks at the beginning only
  // `name` is the file's, for messages. The profile has passed check().
  Result<model::Profile> (*read)(std::string_view content, const std::string& name);
  // The same for a file that comes in pieces; null where a format needs all of it at once.
  std::unique_ptr<StreamReader> (*stream)(const std::string& name) = nullptr;
};

// In the order in which they are asked.
std::span<const Reader> readers();
// Null where none of them recognises it.
const Reader* reader_of(std::string_view content);

}  // namespace fathom::formats
