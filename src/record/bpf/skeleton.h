// The event programs and their maps in the kernel, as libbpf holds them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"

struct fathom_bpf;

namespace fathom::sources {

struct DestroySkeleton {
  void operator()(fathom_bpf* skeleton) const;
};
using Skeleton = std::unique_ptr<fathom_bpf, DestroySkeleton>;

// Loads and verifies `programs`, bytes of an ELF file that outlive it. `configure` chooses the programs and sizes the maps before:
// once for each attempt, as an attempt may be interrupted. kPermission or kUnsupported with a remedy when this user or kernel
// cannot.
Result<Skeleton> load_skeleton(std::span<const std::byte> programs,
                               const std::function<void(fathom_bpf&)>& configure);

// From now on libbpf explains failures to load_error() instead of on stderr. Before its first other call.
void keep_libbpf_text();

// The error of a part of loading that libbpf has explained.
tl::unexpected<Error> load_error(int error_number);

}  // namespace fathom::sources
