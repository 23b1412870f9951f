// What SIGBUS means to this process: a file was cut short while it was mapped (base/mapped_files.h).
#pragma once

namespace fathom::cli {

// From now on zeros are read in the place of what is gone; any other SIGBUS ends the process as it always did.
void survive_cut_files();

}  // namespace fathom::cli
