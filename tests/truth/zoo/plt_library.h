// A library of functions so small that the call through the PLT costs as much as they do.
#pragma once

#include <cstdint>

#define ZOO_PLT_TEN(F, tens) \
  F(tens##0)                 \
  F(tens##1) F(tens##2) F(tens##3) F(tens##4) F(tens##5) F(tens##6) F(tens##7) F(tens##8) F(tens##9)
#define ZOO_PLT_FUNCTIONS(F) \
  ZOO_PLT_TEN(F, 1) ZOO_PLT_TEN(F, 2) ZOO_PLT_TEN(F, 3) ZOO_PLT_TEN(F, 4) ZOO_PLT_TEN(F, 5) ZOO_PLT_TEN(F, 6)

#define ZOO_DECLARE(n) extern "C" std::uint64_t zoo_plt_##n(std::uint64_t value);
ZOO_PLT_FUNCTIONS(ZOO_DECLARE)
#undef ZOO_DECLARE
