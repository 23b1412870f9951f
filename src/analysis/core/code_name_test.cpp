#include "analysis/core/code_name.h"

#include <gtest/gtest.h>

namespace fathom::analysis {
namespace {

TEST(CodeName, OfRustIsTheCrate) {
  EXPECT_EQ(crate_of("alloc::vec::Vec<T,A>::push"), "alloc");
  EXPECT_EQ(crate_of("revm_context_interface::local::FrameStack<T>::new_prealloc"), "revm_context_interface");
  EXPECT_EQ(crate_of("axum::serve::handle_connection::{{closure}}::{{closure}}"), "axum");
  EXPECT_EQ(crate_of("anvil::eth::backend::mem::in_memory_db::<impl anvil::eth::backend::db::Db for "
                     "foundry_evm_core::backend::in_memory_db::MemDb>::current_state"),
            "anvil");
  EXPECT_EQ(crate_of("core::ops::function::FnOnce::call_once{{vtable.shim}}"), "core");
  EXPECT_EQ(crate_of("hashbrown::raw::RawTable<(&str, foo::Bar)>::reserve_rehash"), "hashbrown");
}

TEST(CodeName, OfAnImplementationIsTheCrateOfTheTypeElseOfTheTrait) {
  EXPECT_EQ(crate_of("<hashbrown::map::HashMap<K,V,S,A> as core::clone::Clone>::clone"), "hashbrown");
  EXPECT_EQ(crate_of("<revm_handler::frame::EthFrame as core::default::Default>::default"), "revm_handler");
  EXPECT_EQ(crate_of("<T as tower::util::boxed_clone_sync::CloneService<R>>::clone_box"), "tower");
  EXPECT_EQ(crate_of("<&mut tokio::io::Stdin as std::io::Read>::read"), "tokio");
  EXPECT_EQ(crate_of("<dyn reth_db::Table as core::fmt::Debug>::fmt"), "reth_db");
  EXPECT_EQ(crate_of("<(A, B) as rayon::iter::Zip>::zip"), "rayon");
  EXPECT_EQ(crate_of("<[u8] as alloc::slice::hack::ConvertVec>::to_vec"), "alloc");
  EXPECT_EQ(crate_of("<alloc::raw_vec::RawVecInner>::finish_grow"), "alloc");
  EXPECT_EQ(crate_of("<impl serde::ser::Serialize for alloy::Bytes>::serialize"), "alloy");
  EXPECT_EQ(crate_of("<impl futures::Future for F>::poll"), "futures");
  EXPECT_EQ(crate_of("<<foo::A as foo::B>::C as bar::D>::run"), "foo");
  EXPECT_EQ(crate_of("<F as core::ops::FnOnce<(A,), Output -> B>>::call_once"), "core");
}

TEST(CodeName, OfCxxIsTheOutermostNamespace) {
  EXPECT_EQ(crate_of("server::load(std::string const&)"), "server");
  EXPECT_EQ(crate_of("void std::vector<int, std::allocator<int> >::emplace_back<int>(int&&)"), "std");
  EXPECT_EQ(crate_of("std::pair<a::X, b::Y>& rocksdb::find<rocksdb::Slice>(a::X const&)"), "rocksdb");
  EXPECT_EQ(crate_of("llvm::(anonymous namespace)::Lexer::next()"), "llvm");
  EXPECT_EQ(crate_of("std::function<void (int)>::operator()(int) const"), "std");
  EXPECT_EQ(crate_of("wide::operator<<(std::ostream&, wide::Int const&)"), "wide");
  EXPECT_EQ(crate_of("ns::Text::operator std::string() const"), "ns");
  EXPECT_EQ(crate_of("non-virtual thunk to ui::Button::click()"), "ui");
  EXPECT_EQ(crate_of("decltype (f({parm#1})) boost::apply<X>(X)"), "boost");
  EXPECT_EQ(crate_of("std::__cxx11::basic_string<char>::_M_append[abi:cxx11](char const*)"), "std");
  EXPECT_EQ(crate_of("Eigen::internal::gemm(int)"), "Eigen");
}

TEST(CodeName, OfALoneClassIsNoNamespace) {
  for (const char* name :
       {"Cache::put(int)", "LogParser::parse_line(std::string const&)", "Tree<int, std::less<int> >::grow()",
        "parser::parser()", "parser::~parser()", "Vec<..>::push", "<Page>::read",
        "Pool::operator new(unsigned long)", "main::{lambda()#1}::_FUN()",
        "(anonymous namespace)::play(int, unsigned int)", "(anonymous namespace)::Pool::Pool()"})
    EXPECT_EQ(crate_of(name), "") << name;
}

TEST(CodeName, OfAFunctionInNothingIsEmpty) {
  for (const char* name :
       {"", "main", "malloc", "operator new(unsigned long)", "void f<std::string>(std::string const&)",
        "[libc.so.6+0x10]", "sqlite3@fde+0x16a50", "<", "<>", "<T>::f", "::", "a:", "init_stringpool()",
        "global_func(ns::Type)", "operator<< <ns::T>(ns::T)", "(", "<<<<", "a b c ", "x [clone .cold]"})
    EXPECT_EQ(crate_of(name), "") << name;
}

}  // namespace
}  // namespace fathom::analysis
