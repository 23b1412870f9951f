// Names that survive a build: what a compiler, a linker or a package manager numbers anew each time is taken out of a
// function's, a module's or a thread's name, so that the same code of two builds has one name. Generic arguments stay: two
// instances are two functions.
#pragma once

#include <string>
#include <string_view>

namespace fathom::analysis {

// "core::fmt::write::h0123456789abcdef" -> "core::fmt::write"; "f.llvm.12", "f.part.0.cold", "f [clone .isra.0]" -> "f";
// "app[1f2e]::run" -> "app::run"; "{closure#3}", "{lambda(int)#2}", "$_7" lose their number; "/tokio-1.38.0/" its version;
// "0x7f01a2" becomes "0x". Whatever the bytes, the result is no longer than the name, and stable of it is itself.
std::string stable_name(std::string_view name);

// "libssl.so.1.1" -> "libssl.so", "libLLVM-14.so.1" -> "libLLVM.so".
std::string stable_module(std::string_view name);

// "tokio-runtime-w 12" -> "tokio-runtime-w #", "io_thd_3" -> "io_thd_#", "[thread 4711]" -> "[thread #]".
std::string stable_thread(std::string_view name);

}  // namespace fathom::analysis
