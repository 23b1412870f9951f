#include "analysis/core/runtimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::analysis {
namespace {

using testing::HasSubstr;

TEST(RuntimeRules, OfTheFileAreWellFormed) {
  const Result<RuntimeRules> rules = RuntimeRules::parse(kRuntimeRulesText, "runtime_rules.txt");
  ASSERT_TRUE(rules) << rules.error().message;
}

TEST(RuntimeRules, KnowRuntimesExecutorsParkersAndLocks) {
  const RuntimeRules& rules = built_in_runtime_rules();
  for (const char* name :
       {"tokio::runtime::park::CachedParkThread::park", "async_std::task::block_on",
        "<futures_util::future::Map<F, G> as core::future::future::Future>::poll",
        "rayon_core::sleep::Sleep::sleep", "crossbeam_channel::flavors::array::Channel<T>::recv",
        "crossbeam_utils::sync::parker::Inner::park", "parking_lot::raw_mutex::RawMutex::lock_slow",
        "parking_lot_core::parking_lot::park", "std::sys::pal::unix::futex::futex_wait",
        "core::ops::function::FnOnce::call_once",
        "std::condition_variable::wait(std::unique_lock<std::mutex>&)", "pthread_cond_wait",
        "___pthread_mutex_lock", "folly::Baton<true>::wait()",
        "boost::asio::detail::scheduler::run(boost::system::error_code&)", "runtime.gopark",
        "sync.(*Mutex).lockSlow", "internal/poll.(*FD).Read", "rocksdb::port::Mutex::Lock()"})
    EXPECT_TRUE(rules.has_function(name)) << name;
}

TEST(RuntimeRules, LeaveTheUsersCodeAlone) {
  const RuntimeRules& rules = built_in_runtime_rules();
  for (const char* name :
       {"main", "do_mine_block", "anvil::eth::backend::mem::Backend::do_mine_block",
        "<anvil::service::NodeService as core::future::future::Future>::poll", "Db::commit()",
        "main.(*Server).handle", "poll", "select", "runtime_init", "tokiosk::sell"})
    EXPECT_FALSE(rules.has_function(name)) << name;
}

TEST(RuntimeRules, KnowWhatRunsEverythingElse) {
  const RuntimeRules& rules = built_in_runtime_rules();
  for (const char* name : {"main",
                           "toplev::main",
                           "cc1_main(llvm::ArrayRef<char const*>, char const*, void*)",
                           "clang::ExecuteCompilerInvocation(clang::CompilerInstance*)",
                           "clang::FrontendAction::Execute()",
                           "clang::ASTFrontendAction::ExecuteAction()",
                           "zend_eval_stringl",
                           "event_base_loop",
                           "aeMain",
                           "PostgresMain",
                           "uv_run",
                           "TclNRRunCallbacks",
                           "Rf_eval",
                           "rb_vrescue2",
                           "call_into_lisp_",
                           "caml_start_program",
                           "clang::tooling::ClangTool::run(clang::tooling::ToolAction*)",
                           "node::LibuvStreamWrap::OnUvRead(long, uv_buf_t const*)",
                           "node::worker::Worker::Run()",
                           "node::(anonymous namespace)::PlatformWorkerThread(void*)",
                           "v8::platform::DefaultJobWorker::Run()"})
    EXPECT_TRUE(rules.starts(name)) << name;
  for (const char* name : {"GOMP_parallel", "GOMP_parallel_loop_dynamic", "__kmpc_fork_call", "start_thread"})
    EXPECT_TRUE(rules.begins(name)) << name;
  for (const char* name :
       {"clang::Sema::ActOnFunctionDeclarator", "clang::ParseAST(clang::Sema&, bool, bool)", "event_add",
        "exec_simple_query", "zif_md5", "mainloop", "domain", "Rf_allocVector", "rb_ary_push",
        "caml_alloc_sprintf"})
    EXPECT_FALSE(rules.starts(name)) << name;
}

// Two marks of Rust's library around what backtraces show, and the calls of boxed closures.
TEST(RuntimeRules, KnowHowThreadsAndClosuresBegin) {
  const RuntimeRules& rules = built_in_runtime_rules();
  for (const char* name :
       {"start_thread", "<std::sys::thread::unix::Thread>::new::thread_start",
        "std::sys::backtrace::__rust_begin_short_backtrace::<app::run, ()>",
        "rustc_query_impl::query_impl::typeck::invoke_provider_fn::__rust_begin_short_backtrace",
        "app::queries::execute::__rust_end_short_backtrace",
        "<std::thread::lifecycle::spawn_unchecked<app::run, ()>::{closure#1} as "
        "core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}"})
    EXPECT_TRUE(rules.begins(name)) << name;
  for (const char* name : {"app::run::{closure#1}", "app::vtable::call_once", "main", "app::backtrace::walk"})
    EXPECT_FALSE(rules.begins(name)) << name;
}

TEST(RuntimeRules, KnowLibrariesAndWhereTheirSourcesLie) {
  const RuntimeRules& rules = built_in_runtime_rules();
  EXPECT_TRUE(rules.has_module("libc.so.6"));
  EXPECT_TRUE(rules.has_module("/usr/lib/x86_64-linux-gnu/libstdc++.so.6"));
  EXPECT_FALSE(rules.has_module("libcodec.so"));
  EXPECT_TRUE(rules.has_source("/home/me/.cargo/registry/src/serde-1.0/src/de.rs"));
  EXPECT_FALSE(rules.has_source("/home/me/server/src/main.rs"));
}

TEST(RuntimeRules, SayWhichLineIsWrong) {
  const auto error = [](std::string_view text) { return RuntimeRules::parse(text, "x").error().message; };
  EXPECT_THAT(error("# fine\ncrate tokio\n"), HasSubstr("x:2: 'crate' is not a kind of rule"));
  EXPECT_THAT(error("namespace\n"), HasSubstr("x:1: nothing after 'namespace'"));
}

}  // namespace
}  // namespace fathom::analysis
