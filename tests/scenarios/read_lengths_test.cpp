#include "scenarios/loader/lengths/read_lengths.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <sstream>

#include "files/file_error.hpp"
#include "files/read_file.hpp"
#include "messages.hpp"
#include "scenarios/loader/lengths/data_files.hpp"
#include "temp_folder.hpp"
#include "tests/paths.hpp"

namespace packsim {
namespace {

using Lengths = std::vector<std::int32_t>;
using Messages = std::vector<std::string>;

// The lengths in a file with these bytes; fails the test where something is wrong with it.
Lengths lengths_in(const std::string& name, const std::string& bytes) {
  Problems problems;
  const Lengths lengths_tokens = parse_lengths(name, bytes, problems);
  CHECK(messages_in(problems) == Messages{});
  return lengths_tokens;
}

Messages messages_for(const std::string& name, const std::string& bytes) {
  Problems problems;
  parse_lengths(name, bytes, problems);
  return messages_in(problems);
}

template <typename T>
std::string npy(const std::string& dtype, const std::vector<T>& values, char version = 1) {
  std::string header = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': (" +
                       std::to_string(values.size()) + ",), }\n";
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  bytes += static_cast<char>(header.size());
  bytes.append(version == 1 ? 1 : 3, '\0');
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return bytes;
}

}  // namespace

TEST_CASE("CSV: a tokens column is read, wherever it is") {
  CHECK(lengths_in("a.csv", "tokens\n5\n0\n16777216\n") == Lengths{5, 0, 16777216});
  CHECK(lengths_in("a.csv", "source,tokens,messages\na,5,1\nb,6,2\n") == Lengths{5, 6});
}

TEST_CASE("CSV: prompt and response are summed, unless there are tokens") {
  CHECK(lengths_in("a.csv", "prompt,response,messages,source\n4808,10,1,x\n3180,8,1,y\n") ==
        Lengths{4818, 3188});
  CHECK(lengths_in("a.csv", "prompt,response,tokens\n1,2,30\n") == Lengths{30});
}

TEST_CASE("CSV: one column of numbers needs no header") {
  CHECK(lengths_in("a.csv", "5\n6\n7\n") == Lengths{5, 6, 7});
  CHECK(lengths_in("a.csv", "5") == Lengths{5});
}

TEST_CASE("CSV: CRLF, a byte order mark, blanks, and a last line with or without an end") {
  CHECK(lengths_in("a.csv", "\xEF\xBB\xBFtokens,source\r\n5,a\r\n 6 ,b\r\n") == Lengths{5, 6});
  CHECK(lengths_in("a.csv", "tokens\n5\n6") == Lengths{5, 6});
  CHECK(lengths_in("a.csv", "tokens\n5\n6\n\n\n") == Lengths{5, 6});
}

TEST_CASE("CSV: quoted fields may hold commas, quotes and line ends, and quoted numbers are numbers") {
  CHECK(lengths_in("a.csv",
                   "text,\"tokens\"\n\"a, b\",5\n\"say \"\"hi\"\"\",\"6\"\n\"two\r\nlines\",7\n\"\",8\r\n") ==
        Lengths{5, 6, 7, 8});
}

TEST_CASE("CSV: a quote inside an unquoted field stands for itself") {
  CHECK(lengths_in("a.csv", "text,tokens\n5\" disk,5\n") == Lengths{5});
}

TEST_CASE("CSV: lines are counted through quoted line ends") {
  CHECK(messages_for("a.csv", "text,tokens\n\"1\n2\n3\",5\nx,y\n") ==
        Messages{"a.csv: line 5: expected integer in 0..16777216, got \"y\""});
}

TEST_CASE("CSV: a blank line between rows is a missing length, not nothing") {
  CHECK(messages_for("a.csv", "tokens\n5\n\n6\n") ==
        Messages{"a.csv: line 3: expected integer in 0..16777216, got \"\""});
  CHECK(messages_for("a.csv", "tokens,source\n5,a\n\n6,b\n") ==
        Messages{"a.csv: line 3: expected 2 fields, got 1"});
}

TEST_CASE("CSV: signs, fractions, other bases and numbers too large are no lengths") {
  const std::vector<std::string> bad = {
      "-1", "+1", "1.0", "1e3", "0x10", "16777217", "99999999999999999999", "1 2", "\xFF"};
  for (const std::string& text : bad) {
    INFO(text);
    CHECK(messages_for("a.csv", "tokens\n1\n" + text + "\n").size() == 1);
  }
}

TEST_CASE("CSV: the first ten bad rows are shown, and how many there are") {
  std::string text = "tokens\n";
  for (int i = 0; i < 1000; ++i) text += "x\n";
  const Messages messages = messages_for("a.csv", text);
  REQUIRE(messages.size() == 11);
  CHECK(messages[9] == "a.csv: line 11: expected integer in 0..16777216, got \"x\"");
  CHECK(messages[10] == "a.csv: whole file: expected no mistakes, got 1000, of which the first 10 are shown");
}

TEST_CASE("CSV: two columns of one name are not chosen from") {
  CHECK(
      messages_for("a.csv", "tokens,tokens\n1,2\n") ==
      Messages{
          "a.csv: line 1: expected one column named tokens, or one named prompt and one named response, got "
          "\"tokens,tokens\""});
}

TEST_CASE("JSONL: integers, tokens, length, or prompt and response, beside other keys") {
  CHECK(lengths_in("a.jsonl",
                   "5\n{\"tokens\": 6}\r\n{\"id\": \"x\", \"length\": 7}\n{\"prompt\": 4, \"response\": 4}\n"
                   "{\"prompt\": \"Why?\", \"tokens\": 9}") == Lengths{5, 6, 7, 8, 9});
}

TEST_CASE("JSONL: rows of token ids are counted, unless they say their length themselves") {
  CHECK(lengths_in("a.jsonl",
                   "{\"input_ids\": [7, 8, 9], \"labels\": [-100, 8, 9]}\n{\"input_ids\": []}\n"
                   "{\"input_ids\": [1], \"tokens\": 5}\n") == Lengths{3, 0, 5});
  CHECK(messages_for("a.jsonl",
                     "{\"input_ids\": [1, \"a\"]}\n{\"input_ids\": 3}\n{\"input_ids\": [[1, 2]]}\n") ==
        Messages{"a.jsonl: line 1: /input_ids: expected an array of integers, got [1,\"a\"] (array)",
                 "a.jsonl: line 2: /input_ids: expected an array of integers, got 3 (number)",
                 "a.jsonl: line 3: /input_ids: expected an array of integers, got [[1,2]] (array)"});
}

TEST_CASE("JSONL: a row of text names the command that counts its tokens") {
  CHECK(
      messages_for("my data.jsonl", "{\"id\": 1, \"body\": \"Why?\"}\n") ==
      Messages{"my data.jsonl: line 1: expected tokens, length, input_ids, or prompt and response (of texts: "
               "python -m packsim.lengths 'my data.jsonl' --column body --tokenizer tokenizer.json --out 'my "
               "data.npy'), got {\"id\":1,\"body\":\"Why?\"} (object)"});
}

TEST_CASE("Data that the Python package measures are refused with its command") {
  CHECK(
      messages_of([] { read_lengths("data/train.tar.gz"); }) ==
      Messages{
          "lengths: expected a file of a known kind (.csv, .jsonl, .npy, .json), which python -m "
          "packsim.lengths data/train.tar.gz --column text --tokenizer tokenizer.json --out train.npy makes "
          "of texts and, without --tokenizer, of token ids, got \"data/train.tar.gz\""});
  const TempFolder folder;
  CHECK(is_data_to_measure(folder.path()));
  CHECK_FALSE(is_data_to_measure("missing.txt"));
}

TEST_CASE("Every format of the Python package is either read or refused with its command") {
  std::istringstream formats(read_file(packsim_test::source_dir() + "/python/packsim/lengths/formats.py"));
  int n_formats = 0;
  for (std::string line; std::getline(formats, line);) {
    if (!line.starts_with("    \".")) continue;
    const std::string name = "a" + line.substr(5, line.find('"', 5) - 5);
    CAPTURE(name);
    CHECK(is_lengths_file(name) != is_data_to_measure(name));
    ++n_formats;
  }
  CHECK(n_formats == 14);
}

TEST_CASE("What comes through a pipe is read by how it starts") {
  const auto piped = [](const std::string& bytes) {
    Problems problems;
    const Lengths lengths = parse_lengths("/dev/stdin", bytes, problems);
    CHECK(messages_in(problems).empty());
    return lengths;
  };
  CHECK(piped("5\n6\n") == Lengths{5, 6});
  CHECK(piped("tokens\n7\n") == Lengths{7});
  CHECK(piped("{\"tokens\": 8}\n") == Lengths{8});
  CHECK(piped("{\"format\": 1, \"histogram\": {\"1\": 2}}") == Lengths{1, 1});
  CHECK(piped(npy<std::int32_t>("<i4", {9})) == Lengths{9});
}

TEST_CASE("JSONL: the sum of prompt and response has to be a length") {
  CHECK(messages_for("a.jsonl", "{\"prompt\": 16777216, \"response\": 1}\n") ==
        Messages{"a.jsonl: line 1: expected prompt + response an integer in 0..16777216, got 16777217"});
}

TEST_CASE("NPY: all integer types of the table and all versions are read") {
  CHECK(lengths_in("a.npy", npy<std::int32_t>("<i4", {1, 2, 16777216})) == Lengths{1, 2, 16777216});
  CHECK(lengths_in("a.npy", npy<std::int64_t>("<i8", {3, 4}, 2)) == Lengths{3, 4});
  CHECK(lengths_in("a.npy", npy<std::uint16_t>("<u2", {5, 65535}, 3)) == Lengths{5, 65535});
  CHECK(lengths_in("a.npy", npy<std::uint32_t>("<u4", {6})) == Lengths{6});
  CHECK(lengths_in("a.npy", npy<std::uint64_t>("<u8", {7})) == Lengths{7});
}

TEST_CASE("NPY: any cut of a file is refused") {
  const std::string whole = npy<std::int32_t>("<i4", {1, 2, 3});
  for (std::size_t n = 0; n < whole.size(); ++n) {
    INFO(n);
    CHECK(messages_for("a.npy", whole.substr(0, n)).size() == 1);
  }
  CHECK(messages_for("a.npy", whole + "x") ==
        Messages{"a.npy: data: expected 3 elements of 4 bytes, got 13 bytes"});
}

TEST_CASE("NPY: a shape that promises more than any file can hold is refused") {
  std::string bytes = npy<std::int32_t>("<i4", {1});
  const std::string huge = bytes.replace(bytes.find("(1,)"), 4, "(4611686018427387905,)");
  // The header is 18 characters longer now.
  std::string fixed = huge;
  fixed[8] = static_cast<char>(fixed[8] + 18);
  CHECK(messages_for("a.npy", fixed) ==
        Messages{"a.npy: data: expected 4611686018427387905 elements of 4 bytes, got 4 bytes"});
}

TEST_CASE("NPY: no elements are no data set") {
  CHECK(messages_for("a.npy", npy<std::int32_t>("<i4", {})) ==
        Messages{"a.npy: whole file: expected at least one length, got none"});
}

TEST_CASE("histogram: a list counts the samples of length 0, 1, 2 and so on") {
  CHECK(lengths_in("a.json", R"({"format": 1, "histogram": [1, 0, 2, 1]})") == Lengths{0, 2, 2, 3});
}

TEST_CASE("histogram: an object counts the samples of some lengths, which come out ascending") {
  CHECK(lengths_in("a.json",
                   R"({"format": 1, "source": "made up", "histogram": {"128": 2, "9": 1, "10": 1}})") ==
        Lengths{9, 10, 128, 128});
}

TEST_CASE("histogram: one length cannot come twice") {
  CHECK(messages_for("a.json", R"({"format": 1, "histogram": {"5": 2, "5": 1}})") ==
        Messages{"a.json: /histogram/5: expected one value, got a second one"});
}

TEST_CASE("read_lengths throws the user's mistakes and the machine's errors apart") {
  const TempFolder folder;
  CHECK(read_lengths(folder.write("a.csv", "tokens\n5\n")) == Lengths{5});
  CHECK_THROWS_AS(read_lengths(folder.write("b.csv", "tokens\nx\n")), ScenarioError);
  CHECK_THROWS_AS(read_lengths(folder.path() + "/missing.csv"), FileError);
  CHECK(
      messages_of([] { read_lengths("missing.txt"); }) ==
      Messages{"lengths: expected a file of a known kind (.csv, .jsonl, .npy, .json), got \"missing.txt\""});
}

TEST_CASE("the shipped data sets have the sizes that their README gives") {
  const std::string folder = packsim_test::source_dir() + "/scenarios/lengths/";
  const Lengths tulu3 = read_lengths(folder + "tulu3_like_939344.npy");
  CHECK(tulu3.size() == 939344);
  CHECK(std::accumulate(tulu3.begin(), tulu3.end(), std::int64_t{0}) == 769534595);
  // The first and the last line of the text file that this data set was at first.
  CHECK(tulu3.front() == 2411);
  CHECK(tulu3.back() == 1659);
  CHECK(read_lengths(folder + "longcite_like_2k.csv").size() == 2000);
  CHECK(read_lengths(folder + "t0_p3.csv").size() == 55185);
  CHECK(read_lengths(folder + "qmsum.csv").size() == 232);
}

}  // namespace packsim
