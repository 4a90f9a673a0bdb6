#include "scenarios/loader/lengths/csv_record.hpp"

#include <algorithm>

#include "scenarios/loader/json/json_text.hpp"

namespace packsim {

bool CsvReader::next(CsvRecord& record) {
  if (at_ >= text_.size()) return false;
  record.fields.clear();
  record.unescaped.clear();
  record.error.clear();
  record.line = line_;
  while (read_field(record)) {
  }
  return true;
}

// Returns true where the record goes on behind the field.
bool CsvReader::read_field(CsvRecord& record) {
  if (at_ < text_.size() && text_[at_] == '"') {
    if (!read_quoted_field(record)) return false;
  } else {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') ++at_;
    std::string_view field = text_.substr(begin, at_ - begin);
    const bool ends_line = at_ == text_.size() || text_[at_] == '\n';
    if (ends_line && field.ends_with('\r')) field.remove_suffix(1);
    record.fields.push_back(field);
  }
  if (at_ == text_.size()) return false;
  const bool goes_on = text_[at_++] == ',';
  if (!goes_on) ++line_;
  return goes_on;
}

// Leaves at_ on the comma or line feed behind the field. Returns false where the field is not CSV.
bool CsvReader::read_quoted_field(CsvRecord& record) {
  const std::size_t begin = ++at_;
  bool doubled = false;
  while (true) {
    at_ = std::min(text_.find('"', at_), text_.size());
    if (at_ == text_.size()) {
      record.error = "a closing quote";
      record.got = "the end of the file";
      return false;
    }
    if (at_ + 1 == text_.size() || text_[at_ + 1] != '"') break;
    doubled = true;
    at_ += 2;
  }
  std::string_view field = text_.substr(begin, at_ - begin);
  line_ += std::ranges::count(field, '\n');
  ++at_;
  if (doubled) {
    std::string& unescaped = record.unescaped.emplace_back();
    for (std::size_t i = 0; i < field.size(); ++i) {
      unescaped += field[i];
      if (field[i] == '"') ++i;
    }
    field = unescaped;
  }
  record.fields.push_back(field);
  if (text_.substr(at_).starts_with("\r\n")) ++at_;
  if (at_ == text_.size() || text_[at_] == ',' || text_[at_] == '\n') return true;
  record.error = "a comma or the end of the line behind a closing quote";
  record.got = quote(text_.substr(at_, 1));
  skip_line();
  return false;
}

void CsvReader::skip_line() {
  at_ = std::min(text_.find('\n', at_), text_.size());
  if (at_ == text_.size()) return;
  ++at_;
  ++line_;
}

}  // namespace packsim
