#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

PriceList::Price read_price(JsonReader& reader) {
  PriceList::Price price;
  price.cluster = reader.string("cluster");
  price.gpu_hour_price = reader.positive("gpu_hour_price");
  price.term = reader.string("term", "");
  price.spot_mtbf_hours = reader.optional_positive("spot_mtbf_hours");
  price.hardware = reader.string("hardware", "");
  return price;
}

}  // namespace

PriceList read_price_list(JsonReader reader) {
  reader.integer("format", 1, 1);
  PriceList list;
  list.source = reader.string("source");
  list.date = reader.string("date");
  list.currency = reader.string("currency", "");
  for (JsonReader& price : reader.objects("prices")) {
    if (!price.silent()) list.prices.push_back(read_price(price));
  }
  return list;
}

}  // namespace packsim
