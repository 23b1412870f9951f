// The table that an id is a row of.
#pragma once

#include <cstddef>
#include <string_view>

#include "model/profile.h"

namespace fathom::model {

struct Reference {
  std::size_t rows;         // of the table now
  std::string_view table;   // as JSON names it
  std::string_view absent;  // what check() reports if there is no such row
};

inline Reference reference_of(const Profile& profile, StringId) {
  return {profile.strings.size(), "strings", "no such string"};
}
inline Reference reference_of(const Profile& profile, ModuleId) {
  return {profile.modules.size(), "modules", "no such module"};
}
inline Reference reference_of(const Profile& profile, FunctionId) {
  return {profile.functions.size(), "functions", "no such function"};
}
inline Reference reference_of(const Profile& profile, FrameId) {
  return {profile.frames.size(), "frames", "no such frame"};
}
inline Reference reference_of(const Profile& profile, StackId) {
  return {profile.stacks.size(), "stacks", "no such stack"};
}
inline Reference reference_of(const Profile& profile, ProcessId) {
  return {profile.processes.size(), "processes", "no such process"};
}
inline Reference reference_of(const Profile& profile, ThreadId) {
  return {profile.threads.size(), "threads", "no such thread"};
}
inline Reference reference_of(const Profile& profile, WaitObjectId) {
  return {profile.objects.size(), "objects", "no such object"};
}
inline Reference reference_of(const Profile& profile, HeapId) {
  return {profile.heap.heaps.size(), "heaps", "no such heap"};
}
inline Reference reference_of(const Profile& profile, HeapAllocatorId) {
  return {profile.heap.allocators.size(), "heap_allocators", "no such allocator"};
}
inline Reference reference_of(const Profile& profile, HeapSliceId) {
  return {profile.heap.slices.size(), "heap_slices", "no such slice"};
}
inline Reference reference_of(const Profile& profile, HeapSiteId) {
  return {profile.heap.sites.size(), "heap_sites", "no such site"};
}

}  // namespace fathom::model
