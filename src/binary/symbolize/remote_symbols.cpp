#include "binary/symbolize/remote_symbols.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "binary/symbolize/opened_files.h"
#include "linux/process/perf_map.h"

namespace fathom::symbolize {
namespace {

class RemoteSymbols : public ModuleSymbols {
 public:
  RemoteSymbols(NameProcess& process, std::uint32_t number) : process_(process), number_(number) {}

  model::SymbolSource source() const override { return told_.source; }
  std::string problem() const override { return told_.problem; }
  std::string stamp() const override { return told_.stamp; }
  std::string main_crate() const override { return told_.main_crate; }
  std::string compilers() const override { return told_.compilers; }
  std::string lost() const override { return lost_; }
  void check() override {
    prepare();
    if (has_file()) (void)ask(CheckFiles{});
  }
  std::size_t releasable_bytes() const override { return told_.releasable_bytes; }
  void release_memory() override {
    if (process_.runs(sent_to_))
      (void)ask(ReleaseMemory{});
    else
      told_.releasable_bytes = 0;
  }

  std::vector<std::vector<Name>> resolve(std::span<const ElfAddress> addresses) override {
    std::vector<std::vector<Name>> none(addresses.size());
    prepare();
    if (addresses.empty() || !has_file()) return none;
    auto answer = ask(ResolveNames{{addresses.begin(), addresses.end()}});
    return answer ? std::move(answer->names) : none;
  }
  std::vector<std::vector<SourcePlace>> resolve_places(std::span<const ElfAddress> addresses) override {
    std::vector<std::vector<SourcePlace>> none(addresses.size());
    prepare();
    if (addresses.empty() || !has_file()) return none;
    auto answer = ask(ResolvePlaces{{addresses.begin(), addresses.end()}});
    return answer ? std::move(answer->places) : none;
  }

 protected:
  virtual bool has_file() const = 0;
  virtual NameRequest opening() const = 0;
  virtual std::vector<int> files() const = 0;
  virtual Fd open_pointed(const std::string& path) const = 0;
  virtual void prepare() {}

  // Nothing: the module is given up.
  std::optional<NameAnswer> ask(NameQuestion what) {
    while (lost_.empty()) {
      if (process_.number() != sent_to_ && !send_files()) break;
      NameProcess::Reply reply = process_.ask({number_, what}, {}, opener());
      if (keep(reply)) return std::move(reply.answer);
    }
    return std::nullopt;
  }

  bool send_files() {
    while (lost_.empty()) {
      const std::uint32_t running = process_.number();
      if (running == 0) {
        lost_ = "no process to read them could be started";
      } else if (keep(process_.ask(opening(), files(), opener()))) {
        sent_to_ = running;
        return true;
      }
    }
    return false;
  }

  NameProcess& process_;
  std::uint32_t number_;
  NameAnswer told_;  // without names

 private:
  NameProcess::OpenFile opener() const {
    return [this](const std::string& path) { return open_pointed(path); };
  }

  bool keep(const NameProcess::Reply& reply) {
    if (reply.outcome == NameProcess::Outcome::kAnswered) {
      told_.source = reply.answer.source;
      told_.problem = reply.answer.problem;
      told_.stamp = reply.answer.stamp;
      told_.main_crate = reply.answer.main_crate;
      told_.compilers = reply.answer.compilers;
      told_.releasable_bytes = reply.answer.releasable_bytes;
      return true;
    }
    sent_to_ = 0;
    told_.releasable_bytes = 0;
    // The first time another process may have killed it.
    if (reply.outcome == NameProcess::Outcome::kTooMuch || ++deaths_ == 2) lost_ = reply.why;
    return false;
  }

  std::uint32_t sent_to_ = 0;  // the process that has our files
  int deaths_ = 0;
  std::string lost_;
};

class RemoteFile final : public RemoteSymbols {
 public:
  RemoteFile(const ModuleSource& source, const Options& options, DebugFiles& debug_files,
             NameProcess& process, std::uint32_t number)
      : RemoteSymbols(process, number),
        path_(source.path),
        inlines_(options.inlines),
        files_(open_files(source, debug_files)) {
    told_.problem = files_.problem;
    if (!files_.file) return;
    pointed_.emplace(files_.pointed.root, files_.debug_file ? files_.debug_file.get() : files_.file.get());
    (void)send_files();
  }
  std::string source_path() const override { return files_.debug_path; }
  bool wants_debug_file() const override { return files_.stripped; }
  void use_debug_file(FetchedFile fetched) override {
    files_.debug_path = std::move(fetched.path);
    files_.debug_file = std::move(fetched.file);
    files_.pointed = {"", files_.debug_path};
    files_.stripped = false;
    shared_ = std::move(fetched.shared);
    if (fetched.shared_id.size() > 2)
      shared_name_ =
          "/.build-id/" + fetched.shared_id.substr(0, 2) + "/" + fetched.shared_id.substr(2) + ".debug";
    pointed_.emplace("", files_.debug_file.get());
    (void)send_files();
  }

 private:
  bool has_file() const override { return static_cast<bool>(files_.file); }
  NameRequest opening() const override {
    return {number_, OpenModule{path_, files_.debug_path, inlines_, files_.pointed.module}};
  }
  std::vector<int> files() const override {
    std::vector<int> fds = {files_.file.get()};
    if (files_.debug_file) fds.push_back(files_.debug_file.get());
    return fds;
  }
  Fd open_pointed(const std::string& path) const override {
    if (shared_ && path.ends_with(shared_name_)) return Fd(::fcntl(shared_.get(), F_DUPFD_CLOEXEC, 0));
    return pointed_->open(path);
  }

  Fd shared_;  // fetched with the debug file, by the name that it is asked for with
  std::string shared_name_;
  std::string path_;
  bool inlines_;
  OpenedFiles files_;
  std::optional<PointedFiles> pointed_;
};

class RemotePerfMap final : public RemoteSymbols {
 public:
  RemotePerfMap(const ModuleSource& source, NameProcess& process, std::uint32_t number)
      : RemoteSymbols(process, number),
        pid_(source.pid),
        path_(process::perf_map_path(source.pid)),
        early_(source.perf_map) {
    prepare();
  }
  std::string source_path() const override {
    return source() == model::SymbolSource::kNone ? std::string() : path_;
  }

 private:
  // Gone with its process: what was read stays true.
  void prepare() override {
    struct stat status {};
    if (::stat(path_.c_str(), &status) != 0) {
      if (file_ || !early_) return;
      file_ = Fd(::fcntl(early_->get(), F_DUPFD_CLOEXEC, 0));
      if (file_) (void)send_files();
      return;
    }
    const bool same = status.st_size == size_ && status.st_mtim.tv_sec == changed_.tv_sec &&
                      status.st_mtim.tv_nsec == changed_.tv_nsec;
    if (same) return;
    size_ = status.st_size;
    changed_ = status.st_mtim;
    auto file = process::open_perf_map(pid_);
    if (!file) {
      told_.problem = file.error().message;
      return;
    }
    file_ = std::move(*file);
    (void)send_files();
  }
  bool has_file() const override { return static_cast<bool>(file_); }
  NameRequest opening() const override { return {number_, OpenPerfMap{path_}}; }
  std::vector<int> files() const override { return {file_.get()}; }
  Fd open_pointed(const std::string&) const override { return Fd(); }

  int pid_;
  std::string path_;
  std::shared_ptr<const Fd> early_;
  std::int64_t size_ = -1;
  timespec changed_{};
  Fd file_;
};

}  // namespace

std::unique_ptr<ModuleSymbols> open_remote(const ModuleSource& source, const Options& options,
                                           DebugFiles& debug_files, NameProcess& process,
                                           std::uint32_t number) {
  if (source.kind == model::ModuleKind::kAnonymous)
    return std::make_unique<RemotePerfMap>(source, process, number);
  return std::make_unique<RemoteFile>(source, options, debug_files, process, number);
}

}  // namespace fathom::symbolize
