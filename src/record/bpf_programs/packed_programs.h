// The compiled event programs, put into fathom by CMakeLists.txt: ELF files for the kernel.
#pragma once

#include "base/packed/packed.h"

namespace fathom::bpf {

extern const packed::File kPrograms, kProgramsBeforeLinux515;

}  // namespace fathom::bpf
