// How the counts of system calls (record --syscalls) lie in a recording: as rows of Profile::calls, whose function is the system call
// and stands in a module of this name; Module::path is the thread: "TID NAME", or "" of threads that were counted together. The
// row's stack is the caller's, 0 for calls that were not walked; `sized` are the calls that did not fail; `bytes`, what they read or
// wrote. Bytes by file are rows of the second module: the function is the file, Module::path the system call.
#pragma once

#include <string_view>

#include "model/profile.h"

namespace fathom::model {

inline constexpr const char* kSystemCallModule = "[system calls]";
inline constexpr const char* kFileCallModule = "[files of system calls]";
inline constexpr const char* kSystemCallsFact =
    "system_calls";  // "counted"; absent: --syscalls was not given

enum class CallsKind : std::uint8_t { kProbed, kSystemCall, kFile };

inline CallsKind kind_of(const Profile& profile, const Calls& row) {
  const Module& module = profile.modules[profile.functions[row.function.value].module.value];
  if (module.kind != ModuleKind::kNames) return CallsKind::kProbed;
  const std::string_view name = profile.strings[module.name];
  return name == kSystemCallModule ? CallsKind::kSystemCall
         : name == kFileCallModule ? CallsKind::kFile
                                   : CallsKind::kProbed;
}

}  // namespace fathom::model
