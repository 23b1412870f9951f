// What SIGBUS means to this process: a file was cut short while it was mapped (base/mapped_files.h).
#pragma once

namespace fathom::cli {

// From now on reads of truncated parts give zeros; any other SIGBUS ends the process as usual.
void survive_cut_files();

}  // namespace fathom::cli
