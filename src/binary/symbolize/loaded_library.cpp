#include "binary/symbolize/loaded_library.h"

#include <dlfcn.h>

namespace fathom::symbolize {

void* load_library(const char* name) {
  return ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void* function_of_library(void* library, const char* name) {
  return ::dlsym(library, name);
}

}  // namespace fathom::symbolize
