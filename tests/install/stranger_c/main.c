#include <packsim.h>
#include <stdio.h>

int main(void) {
  const int32_t lengths_tokens[] = {5, 9, 4, 1, 3};
  const int64_t capacity_tokens = 10;
  packsim_pack_request request;
  packsim_pack_request_init(&request, sizeof request);
  request.strategy = "ffd";
  request.capacities_tokens = &capacity_tokens;
  request.n_capacities = 1;
  packsim_packing* packing;
  if (packsim_pack(lengths_tokens, 5, &request, &packing) != PACKSIM_OK) {
    fprintf(stderr, "%s\n", packsim_last_error());
    return 1;
  }
  const packsim_group* group = packsim_packing_group(packing, 0);
  for (int64_t p = 0; p < group->n_packs; ++p) {
    for (uint32_t i = group->offsets[p]; i < group->offsets[p + 1]; ++i)
      printf("sample %d: %d  ", (int)group->items[i], (int)lengths_tokens[group->items[i]]);
    printf("\n");
  }
  packsim_packing_free(packing);
  return 0;
}
