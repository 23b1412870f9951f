// A recording -> how many samples each instruction of one program or library has: what compilers and linkers want to know of it.
// The file is found by its build id, so a recording merged from many hosts counts all of them, whatever their paths. Only the
// place where a sample was taken counts. Time in the kernel or in another file is not time of the code that called it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/annotate/local_code.h"
#include "analysis/core/selection.h"
#include "base/address.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::feedback {

struct AddressCount {
  ElfAddress address;  // of the instruction
  std::int64_t samples = 0;
  auto operator<=>(const AddressCount&) const = default;
};

// all = inside + in_kernel + in_other_files + elsewhere.
struct CodeSamples {
  std::string build_id;
  std::vector<model::ModuleId> modules;  // rows of the recording with this build id
  std::vector<AddressCount> at;          // ascending, each address once; they add up to `inside`
  std::int64_t all = 0;                  // of the selection
  std::int64_t inside = 0;               // in the code of this file
  std::int64_t in_kernel = 0;            // the kernel and the vdso
  std::int64_t in_other_files = 0;       // other programs and libraries
  std::int64_t elsewhere = 0;            // code without a file, and samples without a stack
};

// Of the file with `build_id`. Empty: of the file that has the most samples. kUsage for a metric that is not CPU time; kNotFound
// if no file has a sample, or none of this build.
Result<CodeSamples> code_samples(const model::Profile& profile, const analysis::Selection& selection,
                                 const std::string& build_id);

// The file of this machine that has this code: `path`, or if that is empty the path of the recording. kNotFound if it is not here
// or is another build.
Result<annotate::LocalCode> open_code(const model::Profile& profile, const CodeSamples& samples,
                                      const std::string& path);

// What code_samples() knows a file by: its build id, or a hash if it has none.
Result<std::string> build_id_of(const std::string& path);

}  // namespace fathom::feedback
