#include "tools/serve/store_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/sudo_user.h"

namespace fathom::serve {

Result<StoreLock> StoreLock::take(const std::string& folder) {
  auto safe = SafeFolder::open(folder, {.owner = sudo_user()});
  if (!safe) return tl::unexpected<Error>(safe.error());
  Fd lock(::openat(safe->fd().get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) return system_error(folder, errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return StoreLock(std::move(*safe), std::move(lock));
  if (errno != EWOULDBLOCK) return system_error(folder, errno);
  return fail(ErrorKind::kPermission, folder + ": another fathom serve writes its windows there",
              "end that one, or choose another folder with --store");
}

}  // namespace fathom::serve
