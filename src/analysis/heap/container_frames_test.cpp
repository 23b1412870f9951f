#include "analysis/core/container_frames.h"

#include <gtest/gtest.h>

#include "analysis/heap/hand_made_heap.h"

namespace fathom::analysis {
namespace {

void expect_all(ContainerFrame container_frames, const std::vector<const char*>& names) {
  for (const char* name : names) EXPECT_EQ(container_frame_of(name), container_frames) << name;
}

TEST(ContainerFrame, OfAllocatorsHandsMemoryOut) {
  expect_all(
      ContainerFrame::kAllocator,
      {"malloc", "operator new(unsigned long)", "operator new[](unsigned long)", "posix_memalign",
       "__rust_alloc", "__rustc::__rust_alloc", "alloc::alloc::Global::alloc_impl_runtime",
       "<alloc::alloc::Global as core::alloc::Allocator>::allocate", "__libc_calloc",
       "<tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::alloc",
       "std::__new_allocator<char>::allocate(unsigned long, void const*)",
       "__gnu_cxx::new_allocator<std::_Rb_tree_node<int> >::allocate(unsigned long)",
       "std::allocator_traits<std::allocator<char> >::allocate(std::allocator<char>&, unsigned long)"});
}

TEST(ContainerFrame, OfCProgramsHasManyNames) {
  expect_all(ContainerFrame::kWrapper,
             {"xmalloc", "xcalloc", "xrealloc", "zmalloc_usable", "ztrymalloc_usable_internal",
              "jv_mem_alloc", "CRYPTO_malloc", "sqlite3MallocZero", "g_malloc0"});
}

// What makes an object is a row of its own; how its runtime comes by the memory is none.
TEST(ContainerFrame, OfServersAndRuntimesHasNamesOfItsOwn) {
  expect_all(ContainerFrame::kWrapper, {"_PyObject_Malloc",
                                        "_PyObject_Malloc.localalias",
                                        "PyObject_Malloc",
                                        "PyMem_RawMalloc",
                                        "_PyMem_RawMalloc",
                                        "_PyObject_GC_New",
                                        "PyType_GenericAlloc",
                                        "ruby_xmalloc2",
                                        "objspace_xmalloc0",
                                        "_emalloc_huge",
                                        "zend_mm_alloc_huge",
                                        "Perl_safesysmalloc",
                                        "luaM_realloc_",
                                        "ngx_palloc_large",
                                        "palloc0",
                                        "MemoryContextAllocZeroAligned",
                                        "AllocSetAlloc",
                                        "apr_palloc",
                                        "os::malloc(unsigned long, MEMFLAGS)",
                                        "AllocateHeap(unsigned long, MEMFLAGS)"});
  expect_all(ContainerFrame::kNone, {"PyByteArray_Resize", "PyList_New", "list_resize", "rb_ary_new",
                                     "zend_string_alloc", "luaH_resize", "ngx_http_create_request",
                                     "build_hash_table", "newSV", "Perl_sv_grow", "StackWalk::walk"});
}

// Of anvil, the C++ compiler, redis and jq.
TEST(ContainerFrame, OfLibrariesManagesItForOthers) {
  expect_all(
      ContainerFrame::kLibrary,
      {"alloc::raw_vec::RawVecInner<A>::finish_grow", "<alloc::raw_vec::RawVecInner>::finish_grow",
       "alloc::raw_vec::RawVec<T,A>::grow_one", "alloc::vec::Vec<T,A>::push",
       "<hashbrown::map::HashMap<K,V,S,A> as core::clone::Clone>::clone",
       "hashbrown::raw::RawTableInner::fallible_with_capacity", "core::ops::function::FnOnce::call_once",
       "<T as alloc::slice::<impl [T]>::to_vec_in::ConvertVec>::to_vec",
       "<alloc::string::String as core::clone::Clone>::clone",
       "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
       "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create("
       "unsigned long&, unsigned long)",
       "xstrdup", "asprintf", "__GI___strdup",
       "__gnu_cxx::__pool<true>::_M_reserve_block(unsigned long, unsigned long)"});
}

TEST(ContainerFrame, IsNotWhatWantedTheMemory) {
  expect_all(ContainerFrame::kNone, {"<revm_handler::frame::EthFrame as core::default::Default>::default",
                                     "<revm_database::in_memory_db::Cache as core::clone::Clone>::clone",
                                     "<T as tower::util::boxed_clone_sync::CloneService<R>>::clone_box",
                                     "ht_create(unsigned int)",
                                     "init_stringpool()",
                                     "createStringObject",
                                     "main",
                                     "server::Cache::put(int)",
                                     "stdlib_init",
                                     "coreutils_main",
                                     "allocate_dtv",
                                     "my::malloc(unsigned long)",
                                     "",
                                     "Pool::malloc_pages",
                                     "vector_alloc",
                                     "std_image::load()",
                                     "tc_parse_filter",
                                     "build_realloc_map",
                                     "my_malloc_wrapper",
                                     "malloc_table_init",
                                     "je_settings",
                                     "_rjem_mallocx",
                                     "mi_parse",
                                     "preallocate",
                                     "operator<<(std::ostream&, Cache const&)",
                                     "jvp_object_new"});
}

TEST(ContainerFrame, RulesThatAreNotUnderstoodAreErrorsWithTheirLine) {
  EXPECT_EQ(parse_container_rules("# x\nallocators a\n", "my").error().message,
            "my:2: 'allocators' is not a kind of rule");
  EXPECT_EQ(parse_container_rules("library\n", "my").error().message, "my:1: nothing after 'library'");
  EXPECT_EQ(parse_container_rules("family a\n", "my").error().message,
            "my:1: 'family' wants a name and functions");
  const auto rules = parse_container_rules("allocator a b | c*\r\nlibrary y | x\n", "my").value();
  EXPECT_EQ(rules.allocators, (std::vector<std::string>{"a b", "c*"}));
  EXPECT_EQ(container_frame_of("x::f", rules), ContainerFrame::kLibrary);
}

TEST(ContainerFrame, TheBuiltInRulesAreWellFormed) {
  const auto rules = parse_container_rules(kContainerRulesText, "built in");
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(built_in_container_rules().allocators, rules->allocators);
}

struct Hand : HandMadeHeap {
  model::ModuleId app = module("server");
  model::FrameId main = frame(app, {"main"});
  model::FrameId load = frame(app, {"server::load()"});
  model::FrameId apply = frame(app, {"std::function<void ()>::operator()() const"});
  // Inlined into its caller, as such calls are.
  model::FrameId fill = frame(app, {"std::__new_allocator<char>::allocate(unsigned long, void const*)",
                                    "std::vector<char>::resize(unsigned long)", "server::Buffer::fill()"});
  model::FrameId op_new = frame(module("libstdc++.so.6"), {"operator new(unsigned long)"});
};

TEST(HeapLeaves, TakeTheAllocatorsFramesAwayAndLibrariesOnRequest) {
  Hand hand;
  const auto stack = hand.stack({hand.main, hand.apply, hand.load, hand.fill, hand.op_new});
  const auto filled = hand.stack({hand.main, hand.apply, hand.load, hand.fill});
  const HeapLeaf usual = HeapLeaves(hand.profile).of(stack);
  EXPECT_EQ(usual.stack, filled);
  EXPECT_EQ(usual.skip, 1u);
  const HeapLeaf folded = HeapLeaves(hand.profile, HeapLeaves::Fold::kContainers).of(stack);
  EXPECT_EQ(folded.stack, filled);
  EXPECT_EQ(folded.skip, 2u);
}

// A program with jemalloc and tcmalloc inside of it, that has functions with such names of its own.
TEST(HeapLeaves, LookAtWhereAFunctionIsAndNotOnlyAtItsName) {
  Hand hand;
  const auto library = hand.module("libjemalloc.so.2");
  const auto jemalloc = hand.allocator("jemalloc 5.3.0", library),
             tcmalloc = hand.allocator("tcmalloc", hand.app);
  hand.hook(jemalloc, "mallocx", model::HookKind::kEntry);
  hand.hook(tcmalloc, "tc_malloc", model::HookKind::kEntry);
  const auto load = hand.stack({hand.main, hand.load});
  const auto leaf_of = [&](model::ModuleId module, const std::string& function) {
    const auto stack = hand.stack({hand.main, hand.load, hand.frame(module, {function})});
    return std::pair(HeapLeaves(hand.profile).of(stack).stack, stack);
  };
  for (const auto& [module, function] : {std::pair(library, "je_arena_malloc_hard"),
                                         std::pair(library, "mallocx"), std::pair(hand.app, "tc_malloc")})
    EXPECT_EQ(leaf_of(module, function).first, load) << function;
  for (const auto& [module, function] :
       {std::pair(hand.app, "je_settings"), std::pair(hand.app, "mallocx"),
        std::pair(hand.app, "tc_parse_filter"), std::pair(hand.app, "build_realloc_map"),
        std::pair(hand.app, "my_malloc_wrapper")}) {
    const auto [leaf, stack] = leaf_of(module, function);
    EXPECT_EQ(leaf, stack) << function;
    EXPECT_EQ(HeapLeaves(hand.profile, HeapLeaves::Fold::kContainers).of(stack).stack, stack) << function;
  }
}

// A program that leaks threads: the leak was said to be that of allocate_dtv in ld-linux-x86-64.
TEST(HeapLeaves, OfTheCLibraryAreThoseOfItsCaller) {
  Hand hand;
  const model::FrameId begin = hand.frame(hand.app, {"_start"});
  const auto libc = hand.module("libc.so.6"), loader = hand.module("ld-linux-x86-64.so.2");
  const auto in = [&](model::ModuleId module, const char* name) { return hand.frame(module, {name}); };
  const auto leaf_of = [&](const std::vector<model::FrameId>& frames) {
    const model::StackId stack = hand.stack(frames);
    return HeapLeaves(hand.profile, HeapLeaves::Fold::kContainers).of(stack).stack;
  };
  const auto load = hand.stack({hand.main, hand.load});
  for (const std::vector<model::FrameId>& below : std::vector<std::vector<model::FrameId>>{
           {in(libc, "pthread_create"), in(loader, "_dl_allocate_tls"), in(loader, "allocate_dtv")},
           {in(libc, "_IO_puts"), in(libc, "_IO_file_doallocate")},
           {in(libc, "getaddrinfo"), in(libc, "gaih_inet"), in(libc, "malloc")},
           {in(hand.module("libstdc++.so.6"), "__cxa_allocate_exception")}}) {
    std::vector<model::FrameId> frames{hand.main, hand.load};
    frames.insert(frames.end(), below.begin(), below.end());
    EXPECT_EQ(leaf_of(frames), load) << below.size();
  }
  const std::vector<model::FrameId> call_back{hand.main, in(libc, "qsort"), hand.load};
  EXPECT_EQ(leaf_of(call_back), hand.stack(call_back)) << "the program's code is called back";
  // Before main, and where a thread begins, there is no caller.
  std::vector<model::FrameId> init{begin, in(libc, "__libc_start_main"), in(libc, "init_cacheinfo")};
  const auto initialises = hand.stack(init);
  init.push_back(in(libc, "malloc"));
  EXPECT_EQ(leaf_of(init), initialises);
  const std::vector<model::FrameId> thread{in(libc, "start_thread"), in(libc, "tcache_init")};
  EXPECT_EQ(leaf_of(thread), hand.stack(thread));
  const auto by_name = hand.stack({hand.main, in(libc, "getline")});
  EXPECT_EQ(HeapLeaves(hand.profile).of(by_name).stack, by_name) << "unless containers are folded";
}

TEST(HeapLeaves, CanKeepEveryFrame) {
  Hand hand;
  const auto stack = hand.stack({hand.main, hand.load, hand.fill, hand.op_new});
  Selection all;
  all.fold_plumbing = false;
  const HeapLeaf leaf = HeapLeaves(hand.profile, all, true).of(stack);
  EXPECT_EQ(leaf.stack, stack);
  EXPECT_EQ(leaf.skip, 0u);
}

TEST(HeapLeaves, LeaveTheRestOfTheStackAsItIs) {
  Hand hand;
  const auto load = hand.stack({hand.main, hand.apply, hand.load});
  EXPECT_EQ(HeapLeaves(hand.profile, HeapLeaves::Fold::kContainers).of(load).stack, load);
}

TEST(HeapLeaves, AStackOfNothingButContainersStays) {
  Hand hand;
  const auto allocator = hand.stack({hand.op_new});
  EXPECT_EQ(HeapLeaves(hand.profile).of(allocator).stack, allocator);
  EXPECT_EQ(HeapLeaves(hand.profile, HeapLeaves::Fold::kContainers).of(allocator).stack, allocator);
  // Of libraries alone, the one nearest to the leaf that is no allocator.
  const auto apply = hand.stack({hand.apply});
  const auto both = hand.stack({hand.apply, hand.op_new});
  EXPECT_EQ(HeapLeaves(hand.profile, HeapLeaves::Fold::kContainers).of(both).stack, apply);
}

}  // namespace
}  // namespace fathom::analysis
