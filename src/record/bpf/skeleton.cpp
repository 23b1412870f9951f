#include "record/bpf/skeleton.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/abi/cpu_events.h"
#include "bpf_skeleton/fathom_bpf.skel.h"
#include "record/bpf/load_error.h"

namespace fathom::sources {
namespace {

// libbpf explains failures on stderr by itself; its text is kept for the error message instead.
std::string g_libbpf_text;  // the callback has no parameter for a context
int keep_text(libbpf_print_level level, const char* format, va_list arguments) {
  constexpr std::size_t kMost = 64 << 10;  // the last lines of the verifier's log have the reason
  if (level != LIBBPF_WARN || g_libbpf_text.size() > kMost) return 0;
  char* text = nullptr;
  const int size = ::vasprintf(&text, format, arguments);
  if (size < 0) return 0;
  const std::unique_ptr<char, decltype(&::free)> owner(text, &::free);
  const std::string_view all(text, static_cast<std::size_t>(size));
  if (all.size() <= kMost)
    g_libbpf_text += all;
  else
    g_libbpf_text.append(all.substr(0, kMost / 2)).append("\n").append(all.substr(all.size() - kMost / 2));
  return 0;
}

// A signal that reaches the loading thread makes the verifier give up (EAGAIN). Signals wait until this is destroyed.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// As fathom_bpf__open() does with bytes of its own.
fathom_bpf* open_skeleton(std::span<const std::byte> bytes) {
  auto* opened = static_cast<fathom_bpf*>(std::calloc(1, sizeof(fathom_bpf)));
  if (opened == nullptr) return nullptr;
  int error = fathom_bpf__create_skeleton(opened);
  if (error == 0) {
    opened->skeleton->data =
        const_cast<std::byte*>(bytes.data());  // libbpf has no const there, and only reads
    opened->skeleton->data_sz = bytes.size();
    error = bpf_object__open_skeleton(opened->skeleton, nullptr);
  }
  if (error == 0) return opened;
  fathom_bpf__destroy(opened);
  errno = -error;
  return nullptr;
}

}  // namespace

void DestroySkeleton::operator()(fathom_bpf* skeleton) const {
  fathom_bpf__destroy(skeleton);
}

void keep_libbpf_text() {
  libbpf_set_print(keep_text);
}

tl::unexpected<Error> load_error(int error_number) {
  return tl::unexpected<Error>(explain_load_error(error_number, g_libbpf_text, look_at_kernel()));
}

Result<Skeleton> load_skeleton(std::span<const std::byte> programs,
                               const std::function<void(fathom_bpf&)>& configure) {
  constexpr int kTries = 5;  // SIGSTOP and the freezer of cgroups interrupt all the same
  const SignalsWait wait;
  for (int attempt = 1;; ++attempt) {
    g_libbpf_text.clear();
    Skeleton skeleton(open_skeleton(programs));
    if (skeleton == nullptr) return load_error(errno);
    configure(*skeleton);
    const int error = -fathom_bpf__load(skeleton.get());
    if (error == 0) return skeleton;
    if (error != EAGAIN || attempt == kTries) return load_error(error);
  }
}

}  // namespace fathom::sources
