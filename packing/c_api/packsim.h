#ifndef PACKSIM_H
#define PACKSIM_H

/// packsim's packing core for C and for languages that call C.
///
/// Counts of samples, tokens and GPUs are 64 bits wide, samples and items are named by 32 bits. Text is
/// UTF-8. Functions that can fail return a status or NULL; packsim_last_error() then says what was expected
/// and what came. Everything may be called from several threads at once, but a packing must not be freed
/// while another thread reads it. Later libraries may add fields at the end of structs, except those that
/// come in arrays or are written by the library.

#include <stddef.h>
#include <stdint.h>

#define PACKSIM_VERSION_MAJOR 0
#define PACKSIM_VERSION_MINOR 1
#define PACKSIM_VERSION_PATCH 0
#define PACKSIM_VERSION "0.1.0"

#if defined(__GNUC__)
#define PACKSIM_API __attribute__((visibility("default")))
#else
#define PACKSIM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum packsim_status {
  PACKSIM_OK = 0,
  PACKSIM_INVALID_ARGUMENT = 1,  ///< yours to fix
  PACKSIM_INTERNAL_ERROR = 2,    ///< a bug in packsim
  PACKSIM_OUT_OF_MEMORY = 3
} packsim_status;

/// PACKSIM_VERSION of the library that runs, which may be newer than this header.
PACKSIM_API const char* packsim_version(void);

/// What was wrong with the last call of this thread that failed; empty before the first. Valid until the next
/// one fails.
PACKSIM_API const char* packsim_last_error(void);

/* ---- Strategies ---- */

typedef enum packsim_strategy_kind {
  PACKSIM_FORMS_PACKS = 0,
  /// Forms packs and iterations: tokens_per_iteration must be given, and n_gpus or sp_degrees where there is
  /// more than one GPU.
  PACKSIM_FORMS_ITERATIONS = 1,
  /// Needs the times of packs on a cluster, which this library does not have: `packsim run` does.
  PACKSIM_NEEDS_PRICES = 2
} packsim_strategy_kind;

typedef enum packsim_option_type {
  PACKSIM_BOOLEAN = 0,  ///< "true" or "false"
  PACKSIM_INTEGER = 1,
  PACKSIM_SECONDS = 2,  ///< a number
  PACKSIM_WORD = 3
} packsim_option_type;

/// An option that a strategy reads.
typedef struct packsim_option_info {
  const char* name;
  const char* text;  ///< one sentence
  packsim_option_type type;
  const char* default_value;  ///< as packsim_option has it
  const char* expected;       ///< its range or its words: "integer in 1..1000000"
} packsim_option_info;

typedef struct packsim_strategy_info {
  const char* name;
  const char* summary;  ///< one sentence
  packsim_strategy_kind kind;
} packsim_strategy_info;

PACKSIM_API int64_t packsim_n_strategies(void);

/// Strategy 0 <= index < packsim_n_strategies(), else NULL. Lives as long as the program.
PACKSIM_API const packsim_strategy_info* packsim_strategy(int64_t index);

/// How many options a strategy reads; 0 where there is no such strategy.
PACKSIM_API int64_t packsim_strategy_n_options(int64_t index);

/// Option 0 <= option < packsim_strategy_n_options(index), else NULL. Lives as long as the program.
PACKSIM_API const packsim_option_info* packsim_strategy_option(int64_t index, int64_t option);

/* ---- Requests ---- */

/// An option of a strategy as text: {"rounds", "3"}, {"shuffle", "false"}, {"packer", "bfd"}.
typedef struct packsim_option {
  const char* name;
  const char* value;
} packsim_option;

/// How to pack. packsim_pack_request_init() fills in the defaults; strategy and capacities_tokens have none.
/// A strategy leaves the fields alone that it does not read. Texts and arrays are read during packsim_pack()
/// only.
typedef struct packsim_pack_request {
  size_t struct_size;                ///< set by packsim_pack_request_init()
  const char* strategy;              ///< the name of a strategy
  const int64_t* capacities_tokens;  ///< [n_capacities] pack length of each group, ascending, up to 2^24
  int64_t n_capacities;              ///< one, unless the strategy takes several
  const char* over_long;  ///< longer than the last capacity: error (default), drop, truncate, split, own_pack
  const char* empty;      ///< without tokens: drop (default), keep, error
  int64_t longest_tokens;  ///< what is longer is over-long; 0 (default): the last capacity
  int64_t window_samples;  ///< packed on their own; 0: the whole data set; -1 (default): the strategy's own

  /* Of strategies that form iterations. */
  int64_t n_gpus;                ///< 0 (default): the largest SP degree
  int64_t tokens_per_iteration;  ///< over all GPUs; no default
  const int32_t* sp_degrees;     ///< [n_sp_degrees] GPUs that share a pack, of each group
  int64_t n_sp_degrees;          ///< one of each group, one for all, or 0 (default): every pack has one GPU

  /* Options that only some strategies read, with their defaults. */
  uint32_t seed;                 ///< of the shuffle (1024)
  int32_t shuffle;               ///< 0 takes samples in data set order (1)
  int32_t greedy_fill;           ///< hbp: 0 does not top larger packs up with smaller samples (1)
  int32_t padded_batches;        ///< sorted: 1 counts a row as long as the longest beside it (1)
  const char* packer;            ///< hbp: the strategy inside each group ("isf")
  int64_t rounds;                ///< isf: how often badly filled packs are dissolved (50)
  int64_t threshold_tokens;      ///< isf: packs of so many stay; -1: 128 below the capacity (-1)
  int64_t max_samples_per_pack;  ///< most samples of a pack; 0: no limit, except 200 for axolotl_multipack (0)
  int64_t batch_samples;         ///< none, sorted: rows of a micro-batch; sorted 0: as many as fit (1)
  int64_t linear_weight_tokens;  ///< verl_kk and the like, wlb: a sample of s tokens weighs this x s + s^2 (24576)
  int64_t outlier_queues;        ///< wlb: queues in which long samples wait for each other (2)
  int64_t outlier_threshold_tokens;  ///< wlb: samples as long wait; -1: half the capacity (-1)
  int64_t micro_batch_tokens;        ///< wlb: mean tokens of a micro-batch; -1: half the capacity (-1)
  int64_t batch_tokens;              ///< of a global batch; 0: tokens_per_iteration (0)
  int64_t samples_per_iteration;     ///< of a global batch, instead of tokens; 0: tokens say it (0)

  /// [n_options] any option that the strategy reads, by its name; goes before its field, where it has one.
  const packsim_option* options;
  int64_t n_options;
} packsim_pack_request;

/// Fills in the defaults. struct_size: sizeof(packsim_pack_request), by which a later library knows the
/// fields of the header that a program was compiled with. PACKSIM_INVALID_ARGUMENT where the library is older
/// than the header.
PACKSIM_API packsim_status packsim_pack_request_init(packsim_pack_request* request, size_t struct_size);

/* ---- Packings ---- */

/// The packs of every group. Everything that is read from one lives until packsim_packing_free().
typedef struct packsim_packing packsim_packing;

/// Packs n_samples samples of these lengths, each >= 0, which are copied. *packing is NULL after a failure.
///
/// PACKSIM_INVALID_ARGUMENT for NULL, an unknown strategy or policy, a field out of range, negative lengths
/// and, under the `error` policies, over-long or empty samples.
PACKSIM_API packsim_status packsim_pack(const int32_t* lengths_tokens, int64_t n_samples,
                                        const packsim_pack_request* request, packsim_packing** packing);

/// NULL is fine.
PACKSIM_API void packsim_packing_free(packsim_packing* packing);

/// What became of the samples. Every sample is packed, or counted here.
typedef struct packsim_pack_counts {
  int64_t n_samples;
  int64_t n_tokens;
  int64_t dropped_samples;  ///< over-long, left out
  int64_t dropped_tokens;
  int64_t empty_samples;      ///< without tokens, left out
  int64_t truncated_samples;  ///< cut short; still packed
  int64_t truncated_tokens;   ///< the tokens cut off
  int64_t split_samples;      ///< packed in several pieces; nothing lost
  int64_t own_pack_samples;   ///< over-long, in a pack of their own
} packsim_pack_counts;

PACKSIM_API const packsim_pack_counts* packsim_packing_counts(const packsim_packing* packing);

/// The packs of one capacity. Pack p is items[offsets[p]] up to, not including, items[offsets[p + 1]].
typedef struct packsim_group {
  int64_t capacity_tokens;
  int64_t n_packs;
  int64_t n_items;
  const uint32_t* items;    ///< [n_items], pack after pack
  const uint32_t* offsets;  ///< [n_packs + 1]
} packsim_group;

/// There are as many groups as capacities; 0 for NULL.
PACKSIM_API int64_t packsim_packing_n_groups(const packsim_packing* packing);
PACKSIM_API const packsim_group* packsim_packing_group(const packsim_packing* packing, int64_t group);

/// Tokens [start_token, start_token + n_tokens) of one sample.
typedef struct packsim_piece {
  uint32_t sample_index;
  int32_t start_token;
  int32_t n_tokens;
} packsim_piece;

/// Items are what packs hold: where no sample is cut, item i is sample i. 0 for NULL.
PACKSIM_API int64_t packsim_packing_n_items(const packsim_packing* packing);
/// The part of a sample that an item stands for.
PACKSIM_API packsim_status packsim_packing_piece(const packsim_packing* packing, int64_t item,
                                                 packsim_piece* piece);

/// A pack on the GPUs [first_gpu, first_gpu + n_gpus). A GPU trains its packs by ascending round.
typedef struct packsim_placed_pack {
  uint32_t group;
  uint32_t pack;  ///< of its group
  uint32_t first_gpu;
  uint32_t n_gpus;
  uint32_t round;
  uint32_t after_barrier;  ///< 1: all GPUs wait for each other before this round
} packsim_placed_pack;

/// One optimizer step.
typedef struct packsim_iteration {
  int64_t n_placed;
  const packsim_placed_pack* placed;  ///< [n_placed], rounds ascending
} packsim_iteration;

/// Counts the iterations of strategies that form them, in the order in which they are trained; else 0.
PACKSIM_API int64_t packsim_packing_n_iterations(const packsim_packing* packing);
PACKSIM_API const packsim_iteration* packsim_packing_iteration(const packsim_packing* packing,
                                                               int64_t iteration);

#ifdef __cplusplus
}
#endif

#endif
