// Names that survive a build: removes the parts of a function's, a module's or a thread's name that a
// compiler, a linker or a package manager numbers again in each build, so that the same code has one name in
// two builds. Generic arguments stay: two instances are two functions.
#pragma once

#include <string>
#include <string_view>

namespace fathom::analysis {

// "core::fmt::write::h0123456789abcdef" -> "core::fmt::write"; "f.llvm.12", "f.part.0.cold", "f [clone
// .isra.0]" -> "f"; "app[1f2e]::run" -> "app::run"; "{closure#3}", "{lambda(int)#2}", "$_7" lose their
// number; "/tokio-1.38.0/" its version; "0x7f01a2" becomes "0x". For any bytes, the result is no longer than
// the name, and applying the function again does not change it.
std::string stable_name(std::string_view name);

// "libssl.so.1.1" -> "libssl.so", "libLLVM-14.so.1" -> "libLLVM.so".
std::string stable_module(std::string_view name);

// "tokio-runtime-w 12" -> "tokio-runtime-w #", "io_thd_3" -> "io_thd_#", "[thread 4711]" -> "[thread #]".
std::string stable_thread(std::string_view name);

}  // namespace fathom::analysis
