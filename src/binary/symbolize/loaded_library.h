// Libraries that are loaded at run time if the system has them. A static program can load none: there
// loaded_library_static.cpp stands in for loaded_library.cpp.
#pragma once

namespace fathom::symbolize {

// nullptr: there is none. A library stays loaded.
void* load_library(const char* name);
// nullptr: `library` has no such function.
void* function_of_library(void* library, const char* name);

}  // namespace fathom::symbolize
