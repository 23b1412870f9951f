// perf.data itself, of `perf record`: as a file or as it went through a pipe, packed or not. Samples with their call chains;
// copied stacks are walked with our own tables where the binaries are on this machine, and let go: they hold the program's
// environment. Switches of the scheduler become waits. Frames have addresses and no names: names come later, by build id.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

bool is_perf_data(std::string_view bytes);

struct PerfDataOptions {
  // Paths of files of this name that whoever asks has pointed at, beside those that the mappings name; may be empty.
  std::function<std::vector<std::string>(std::string_view)> called = {};
  // Called now and then: pages of the content that were looked at may be let go. May be empty.
  std::function<void()> release = {};
};

// kMalformed where it is damaged; what ends early is read up to there. `name` is the file's, for messages.
Result<model::Profile> read_perf_data(std::string_view bytes, const std::string& name,
                                      const PerfDataOptions& options);
Result<model::Profile> read_perf_data(std::string_view bytes, const std::string& name);

}  // namespace fathom::formats
