// For the static program, which is linked with this before the archive that has loaded_library.cpp (cmake/StaticProgram.cmake).
#include "binary/symbolize/loaded_library.h"

namespace fathom::symbolize {

void* load_library(const char*) {
  return nullptr;
}

void* function_of_library(void*, const char*) {
  return nullptr;
}

}  // namespace fathom::symbolize
