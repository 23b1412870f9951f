// perf.data itself, of `perf record`: as a file or as it went through a pipe, packed or not. Samples with their call chains;
// copied stacks are walked with our own tables where the binaries are on this machine, and then dropped: they hold the program's
// environment. Switches of the scheduler become waits. Frames have addresses and no names: names come later, by build id. Places in
// the kernel have the names that the caller has for that kernel and that boot; without them they are one frame.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

bool is_perf_data(std::string_view bytes);

// The kernel that was recorded, as far as the file says.
struct PerfKernel {
  std::string build_id;                 // hexadecimal; empty: the file does not say
  std::string reference;                // a symbol of it, "_text"
  std::uint64_t reference_address = 0;  // where that lay then; 0: the file does not say
};
// A function of it at its address of then. `module` is empty for the kernel proper.
struct PerfKernelFunction {
  std::uint64_t address = 0;
  std::string name, module;
};

struct PerfDataOptions {
  // The functions of that kernel by address; none where they are not known. Called once, if the file has places in the kernel. May
  // be empty.
  std::function<std::vector<PerfKernelFunction>(const PerfKernel&)> kernel = {};
  // Paths of files of this name that the user named, in addition to those that the mappings name; may be empty.
  std::function<std::vector<std::string>(std::string_view)> called = {};
  // Called now and then: pages of the content that were read may be dropped. May be empty.
  std::function<void()> release = {};
};

// kMalformed where it is damaged; what ends early is read up to there. `name` is the file's, for messages.
Result<model::Profile> read_perf_data(std::string_view bytes, const std::string& name,
                                      const PerfDataOptions& options);
Result<model::Profile> read_perf_data(std::string_view bytes, const std::string& name);

}  // namespace fathom::formats
