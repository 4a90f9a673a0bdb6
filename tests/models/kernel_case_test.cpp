#include "models/kernels/kernel_case.hpp"

#include <catch2/catch.hpp>

using namespace packsim;

namespace {

std::string mistake_of(const std::string& text) {
  try {
    KernelCase::parse(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A case's text is its identity, whatever the order of its keys") {
  const KernelCase kernel = KernelCase::parse("gemm k=4096 m=16 layout=tn  cache=hot n=14336");
  CHECK(kernel.text() == "gemm m=16 n=14336 k=4096 layout=tn cache=hot");
  CHECK(kernel == KernelCase::of("gemm", {"16", "14336", "4096", "tn", "hot"}));
  CHECK(kernel.text_without({"m", "cache"}) == "gemm n=14336 k=4096 layout=tn");
  CHECK(kernel.with("m", "32").integer("m") == 32);
  CHECK_FALSE(kernel == kernel.with("cache", "cold"));
}

TEST_CASE("A product is of bf16 unless its case says otherwise") {
  const KernelCase plain = KernelCase::parse("gemm m=16 n=32 k=64 layout=tn cache=hot");
  CHECK(plain.value("dtype") == "bf16");
  CHECK(plain == KernelCase::parse("gemm m=16 n=32 k=64 layout=tn cache=hot dtype=bf16"));
  const KernelCase fp8 = plain.with("dtype", "fp8");
  CHECK(fp8.text() == "gemm m=16 n=32 k=64 layout=tn cache=hot dtype=fp8");
  CHECK(fp8 == KernelCase::of("gemm", {"16", "32", "64", "tn", "hot", "fp8"}));
  CHECK(fp8.text_without({"m", "n", "k"}) == "gemm layout=tn cache=hot dtype=fp8");
  CHECK(kernel_flop(fp8) == kernel_flop(plain));
  // Operands of one byte a value, results of two.
  CHECK(kernel_bytes(plain) == 2 * (16 * 64 + 64 * 32 + 16 * 32));
  CHECK(kernel_bytes(fp8) == 16 * 64 + 64 * 32 + 2 * 16 * 32);
  // A value of fp4 has half a byte, and 16 share a byte of scale.
  CHECK(kernel_bytes(plain.with("dtype", "nvfp4")) == (0.5 + 1.0 / 16) * (16 * 64 + 64 * 32) + 2 * 16 * 32);
  CHECK_THROWS_WITH(
      KernelCase::parse("gemm m=1 n=2 k=3 layout=nt cache=cold dtype=int8"),
      Catch::Contains(
          "dtype: expected one of bf16, bf16_into_fp32, fp8, fp8_block, mxfp8, nvfp4, got \"int8\""));
}

TEST_CASE("Every kind of kernel reads back what it wrote") {
  for (const char* text :
       {"gemm m=1 n=2 k=3 layout=nt cache=cold",
        "attention pass=bwd docs=8x512+1x4096 heads=32 kv_heads=8 head_dim=128",
        "elementwise op=rms_norm pass=fwd rows=4096 cols=4096 cache=cold",
        "copy kind=device bytes=1024 cache=hot", "adamw parameters=1048576", "launch_gap",
        "collective op=all_to_all gpus=8 nodes=1 bytes=1024 imbalance=1.25",
        "overlap m=1 n=2 k=3 op=all_gather gpus=8 nodes=1 bytes=1024",
        "step model=llama3.1-8b layers=4 gc_layers=0 sp=1 dp=1 zero=1 packs=1x512/2x128+1x64"}) {
    CAPTURE(text);
    CHECK(KernelCase::parse(text).text() == text);
  }
}

TEST_CASE("Neighbouring documents of one length are one run, the order of others stays") {
  const KernelCase kernel =
      KernelCase::parse("attention pass=fwd docs=1x512+7x512+1x64+1x512 heads=8 kv_heads=8 head_dim=64");
  CHECK(kernel.value("docs") == "8x512+1x64+1x512");
  CHECK(kernel.documents("docs").n_documents() == 10);
  CHECK(kernel.documents("docs").tokens() == 9 * 512 + 64);
  CHECK(kernel.documents("docs").longest_tokens() == 512);
  // 9 x 512^2 + 64^2.
  CHECK(kernel.documents("docs").squared_tokens() == 9 * 262144 + 4096);
  CHECK(parse_documents("2x3+1x4").cumulative_tokens() == std::vector<std::int32_t>{0, 3, 6, 10});
  CHECK(parse_documents("2x3+1x4").lengths_tokens() == std::vector<std::int32_t>{3, 3, 4});
}

TEST_CASE("The packs of a step are read one by one") {
  const KernelCase step =
      KernelCase::parse("step model=m layers=1 gc_layers=0 sp=1 dp=1 zero=0 packs=2x8+1x4/1x16");
  REQUIRE(step.packs("packs").size() == 2);
  CHECK(step.packs("packs")[0].tokens() == 20);
  CHECK(step.packs("packs")[1].tokens() == 16);
}

TEST_CASE("All that is wrong with a case is said at once") {
  const std::string message = mistake_of("gemm m=0 n=3.5 k=4 k=5 layout=tt depth=3 cold");
  CHECK_THAT(message, Catch::Contains("m: expected an integer of at least 1, got \"0\""));
  CHECK_THAT(message, Catch::Contains("n: expected an integer of at least 1, got \"3.5\""));
  CHECK_THAT(message, Catch::Contains("expected k once, got it twice"));
  CHECK_THAT(message, Catch::Contains("layout: expected one of tn, nn, nt, got \"tt\""));
  CHECK_THAT(message, Catch::Contains("expected no such key, got depth=3"));
  CHECK_THAT(message, Catch::Contains("expected key=value, got \"cold\""));
  CHECK_THAT(message, Catch::Contains("expected a value of cache, got none"));
  CHECK_THAT(mistake_of("gem m=1"), Catch::Contains("expected a kernel, one of gemm, attention"));
  CHECK_THAT(mistake_of(""), Catch::Contains("got \"\""));
  CHECK_THAT(mistake_of("attention pass=fwd docs=8*512 heads=1 kv_heads=1 head_dim=1"),
             Catch::Contains("docs: expected documents like 8x512+1x4096, got \"8*512\""));
  CHECK_THAT(mistake_of("collective op=all_gather gpus=8 nodes=1 bytes=1 imbalance=0.5"),
             Catch::Contains("imbalance: expected a number of at least 1"));
}

TEST_CASE("Documents of more tokens than 32 bits count, or of none, are refused") {
  for (const char* text :
       {"", "8x", "x8", "0x8", "8x0", "1x2147483648", "2x1073741824", "1x4++1x4", "1x4 ", "-1x4"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_documents(text), std::invalid_argument);
  }
  CHECK(parse_documents("1x2147483647").tokens() == 2147483647);
}

TEST_CASE("A key that a kernel has not is a mistake in the code") {
  const KernelCase kernel = KernelCase::parse("adamw parameters=1");
  CHECK_THROWS_AS(kernel.value("bytes"), std::logic_error);
  CHECK_THROWS_AS(KernelCase::of("adamw", {}), std::logic_error);
}

TEST_CASE("Work of the kernels by hand") {
  CHECK(kernel_flop(KernelCase::parse("gemm m=2 n=3 k=5 layout=tn cache=hot")) == 2 * 2 * 3 * 5);
  // bf16: 2 x 5 and 5 x 3 read, 2 x 3 written.
  CHECK(kernel_bytes(KernelCase::parse("gemm m=2 n=3 k=5 layout=tn cache=hot")) == 2 * (10 + 15 + 6));
  // Two products of 2 flop over half the square: 2 x heads x head_dim x (2 x 8^2 + 4^2).
  const KernelCase attention =
      KernelCase::parse("attention pass=fwd docs=2x8+1x4 heads=4 kv_heads=2 head_dim=16");
  CHECK(kernel_flop(attention) == 2 * 4 * 16 * 144);
  CHECK(kernel_flop(attention.with("pass", "bwd")) == 2.5 * kernel_flop(attention));
  // gate and up in, their product out.
  CHECK(kernel_bytes(KernelCase::parse("elementwise op=swiglu pass=fwd rows=4 cols=8 cache=cold")) ==
        2 * 3 * 32);
  CHECK(kernel_bytes(KernelCase::parse("copy kind=device bytes=64 cache=cold")) == 128);
  CHECK(kernel_bytes(KernelCase::parse("copy kind=host_to_device bytes=64 cache=cold")) == 64);
  // bf16 gradient and weight, fp32 master copy and two moments in and out: 4 + 24.
  CHECK(kernel_bytes(KernelCase::parse("adamw parameters=10")) == 280);
}
