#include "analysis/core/fold_generics.h"

#include <gtest/gtest.h>

namespace fathom::analysis {
namespace {

TEST(FoldGenerics, ArgumentsBecomeTwoDots) {
  EXPECT_EQ(fold_generics("alloc::vec::Vec<alloc::string::String>::push"), "alloc::vec::Vec<..>::push");
  EXPECT_EQ(fold_generics("core::iter::map::<u8, Vec<u8>>"), "core::iter::map::<..>");
  EXPECT_EQ(fold_generics("std::map<int, std::vector<int> >::find(int const&)"),
            "std::map<..>::find(int const&)");
}

TEST(FoldGenerics, ARustPathInBracketsStays) {
  EXPECT_EQ(fold_generics("<alloc::vec::Vec<T> as core::ops::Drop>::drop"),
            "<alloc::vec::Vec<..> as core::ops::Drop>::drop");
  EXPECT_EQ(fold_generics("<&mut <A<B> as C>::D as E<F>>::g"), "<&mut <A<..> as C>::D as E<..>>::g");
}

TEST(FoldGenerics, OperatorsAreNoBrackets) {
  EXPECT_EQ(fold_generics("operator<"), "operator<");
  EXPECT_EQ(fold_generics("std::operator<< <char>(std::ostream&, char)"),
            "std::operator<< <char>(std::ostream&, char)");
  EXPECT_EQ(fold_generics("Ptr<T>::operator->() const"), "Ptr<..>::operator->() const");
  EXPECT_EQ(fold_generics("A<B>::operator<=>(A<B> const&)"), "A<..>::operator<=>(A<..> const&)");
}

TEST(FoldGenerics, ArrowsInsideOfArgumentsDoNotClose) {
  EXPECT_EQ(fold_generics("call_once<fn(u8) -> u8, ()>::run"), "call_once<..>::run");
  EXPECT_EQ(fold_generics("F<[closure => x]>::g"), "F<..>::g");
}

TEST(FoldGenerics, WhatDoesNotMatchStaysAsItIs) {
  for (const char* name : {"", "a<b", "a>b", "<", "main", "operator", "x<<<", "a<b::operator<"}) {
    EXPECT_EQ(fold_generics(name), name);
  }
}

}  // namespace
}  // namespace fathom::analysis
