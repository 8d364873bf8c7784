/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_LOCUS_C_H_
#define LOCUS_LOCUS_C_H_

/* locus for C, and for languages that call C: the library liblocus.so.
 *
 * The C++ headers document the functions, beside the classes of the same names
 * (order_id_generator.h, order_no_codec.h, routing/router.h, segment_sequence.h,
 * number_generator.h, leased_snowflake.h). This header documents the differences in C.
 *
 * Errors. A function that can fail returns a locus_code. Where that is not LOCUS_OK, *error has the
 * same code and a message, and nothing else was written. `error` may be NULL. A pointer that must
 * not be NULL, and is, gives LOCUS_INVALID_ARGUMENT, and so does an empty output. No exception
 * leaves the library.
 *
 * Texts are UTF-8 and end with NUL, unless a length goes with them. An empty or missing text of an
 * option means its default.
 *
 * Options. A struct of options begins with its own size, so that later versions can add members:
 * initialise it with its _INIT macro, then set the members that differ. NULL means all defaults.
 *
 * Passwords are in options, never in a URI: the text itself, which the library copies to memory
 * that it wipes, or a file whose first line is the password, at most 1,024 bytes of it. The file is
 * read while the place is opened; only its owner, root or the caller, may have permissions for it.
 * Both together are LOCUS_INVALID_ARGUMENT.
 *
 * Ownership. What an _open function returns belongs to the caller, which ends it with the _close
 * function of the same name. _close also takes NULL. Inputs are copied, and none is used after a
 * call
 * has returned.
 *
 * Thread safety: all functions may be called from any thread; _close only when no other call on the
 * object is under way, and none follows. The library calls no functions of its caller.
 * Signals: the library's own threads take none, so that handlers run on threads of the program. A
 * signal does not end a call's wait.
 * Fork: in a forked child, calls on objects of the parent give LOCUS_FAILED_PRECONDITION, except
 * that codecs and routers keep working (without newer tables); _close returns at once.
 * Exit: objects may be open when the process exits; sequences and worker IDs are not given back
 * then. dlclose leaves the library loaded, since its threads may run.
 *
 * Stability. The library's name has its version (liblocus.so.0). Within one such version functions
 * and structs stay as they are; new ones may come.
 */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LOCUS_C_API __attribute__((visibility("default")))
#else
#define LOCUS_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers are those of absl::StatusCode and gRPC. */
typedef enum locus_code {
  LOCUS_OK = 0,
  LOCUS_CANCELLED = 1,
  LOCUS_UNKNOWN = 2,
  LOCUS_INVALID_ARGUMENT = 3,
  LOCUS_DEADLINE_EXCEEDED = 4,
  LOCUS_NOT_FOUND = 5,
  LOCUS_ALREADY_EXISTS = 6,
  LOCUS_PERMISSION_DENIED = 7,
  LOCUS_RESOURCE_EXHAUSTED = 8, /* also: there is no memory */
  LOCUS_FAILED_PRECONDITION = 9,
  LOCUS_ABORTED = 10,
  LOCUS_OUT_OF_RANGE = 11,
  LOCUS_UNIMPLEMENTED = 12,
  LOCUS_INTERNAL = 13,
  LOCUS_UNAVAILABLE = 14,
  LOCUS_DATA_LOSS = 15,
  LOCUS_UNAUTHENTICATED = 16
} locus_code;

#define LOCUS_MESSAGE_BYTES 1024
typedef struct locus_error {
  int32_t code;                      /* a locus_code */
  char message[LOCUS_MESSAGE_BYTES]; /* ends with NUL; a longer one is cut off between characters */
} locus_error;

/* The version of the loaded library, such as "0.1.0". */
LOCUS_C_API const char* locus_version(void);
/* "OK", "INVALID_ARGUMENT", ...; "UNKNOWN" for any other number. */
LOCUS_C_API const char* locus_code_name(int32_t code);

/* --- Genes. */

/* The vnode of a buyer key, 0..65535. The text "123" and the number 123 are different keys. */
LOCUS_C_API uint16_t locus_gene_of_uint64(uint64_t buyer);
/* NULL with length 0 is the empty text. */
LOCUS_C_API uint16_t locus_gene_of_text(const char* buyer, size_t length);

/* --- Order IDs: 64 bits, or 128 from sequence 2^47 on. */

typedef struct locus_order_id {
  uint64_t first; /* a narrow ID's value, for a BIGINT column */
  uint64_t rest;  /* 0: the ID is narrow */
} locus_order_id;

typedef struct locus_order_id_parts {
  uint16_t gene;
  uint16_t cohort; /* 0..9999 */
  uint32_t width;  /* 64 or 128 */
  uint64_t sequence;
} locus_order_id_parts;

#define LOCUS_ORDER_ID_BYTES 16
#define LOCUS_ORDER_ID_TEXT_BYTES 33 /* with the NUL */

LOCUS_C_API locus_code locus_order_id_make(uint16_t gene, uint64_t sequence, locus_order_id* id,
                                           locus_error* error);
/* Decimal (narrow) or 32 hex digits (wide). */
LOCUS_C_API locus_code locus_order_id_parse(const char* text, size_t length, locus_order_id* id,
                                            locus_error* error);
/* 8 or 16 bytes, big-endian. */
LOCUS_C_API locus_code locus_order_id_from_bytes(const void* bytes, size_t length,
                                                 locus_order_id* id, locus_error* error);
/* LOCUS_INVALID_ARGUMENT of these three also: *id is no order ID. */
LOCUS_C_API locus_code locus_order_id_text(const locus_order_id* id,
                                           char text[LOCUS_ORDER_ID_TEXT_BYTES],
                                           locus_error* error);
/* *length: 8 or 16. */
LOCUS_C_API locus_code locus_order_id_bytes(const locus_order_id* id,
                                            uint8_t bytes[LOCUS_ORDER_ID_BYTES], size_t* length,
                                            locus_error* error);
LOCUS_C_API locus_code locus_order_id_split(const locus_order_id* id, locus_order_id_parts* parts,
                                            locus_error* error);

/* --- Generators of order IDs. */

typedef struct locus_generator locus_generator;

typedef struct locus_generator_options {
  size_t size;
  const char* space;         /* "orders" */
  const char* password;      /* of the store's user; none */
  const char* password_file; /* or a file that has it */
  /* Not 0: a missing store and a missing space are created. The store counts a space that it did
   * not have as a loss. */
  int32_t create;
  int32_t wide;        /* not 0: goes on with 128-bit IDs */
  uint32_t horizon_ms; /* how long it goes on without the store; 0: 10 minutes */
  uint32_t reserved;   /* 0 */
} locus_generator_options;
#define LOCUS_GENERATOR_OPTIONS_INIT \
  { sizeof(locus_generator_options), NULL, NULL, NULL, 0, 0, 0, 0 }

/* `store_uri`: sqlite:PATH, mysql://..., redis://..., etcd://..., zookeeper://..., locusd://...:
   see locus/open.h. */
LOCUS_C_API locus_code locus_generator_open(const char* store_uri,
                                            const locus_generator_options* options,
                                            locus_generator** generator, locus_error* error);
/* Waits for the store for at most timeout_ms; 0: does not wait. */
LOCUS_C_API locus_code locus_generator_next(locus_generator* generator, uint16_t gene,
                                            uint32_t timeout_ms, locus_order_id* id,
                                            locus_error* error);
/* ids[i] of genes[i], for i < *made. Fewer than `count` only if the next one failed; an error only
 * if the first one did, with *made 0. */
LOCUS_C_API locus_code locus_generator_next_batch(locus_generator* generator, const uint16_t* genes,
                                                  size_t count, uint32_t timeout_ms,
                                                  locus_order_id* ids, size_t* made,
                                                  locus_error* error);
/* Allocates a segment for each section, so that the first callers need not wait. */
LOCUS_C_API locus_code locus_generator_warm(locus_generator* generator, uint32_t timeout_ms,
                                            locus_error* error);
LOCUS_C_API void locus_generator_close(locus_generator* generator);

/* --- order_nos: what customers see. */

typedef struct locus_order_no {
  uint64_t high; /* the first 8 of its 16 bytes, big-endian */
  uint64_t low;
} locus_order_no;

#define LOCUS_ORDER_NO_BYTES 16
#define LOCUS_ORDER_NO_TEXT_BYTES 27 /* with the NUL */

/* 26 base-32 digits or 32 hex digits. A text that parses may still be forged: decode it. */
LOCUS_C_API locus_code locus_order_no_parse(const char* text, size_t length, locus_order_no* number,
                                            locus_error* error);
LOCUS_C_API locus_code locus_order_no_from_bytes(const void* bytes, size_t length,
                                                 locus_order_no* number, locus_error* error);
/* LOCUS_INVALID_ARGUMENT of these three also: *number is no order_no. */
LOCUS_C_API locus_code locus_order_no_text(const locus_order_no* number,
                                           char text[LOCUS_ORDER_NO_TEXT_BYTES],
                                           locus_error* error);
LOCUS_C_API locus_code locus_order_no_bytes(const locus_order_no* number,
                                            uint8_t bytes[LOCUS_ORDER_NO_BYTES],
                                            locus_error* error);
/* Needs no key. */
LOCUS_C_API locus_code locus_order_no_gene(const locus_order_no* number, uint16_t* gene,
                                           locus_error* error);

typedef struct locus_codec locus_codec;

/* `key_file`: a key ring (`locus keys init`), which only its owner may read. `space`: NULL:
 * "orders". */
LOCUS_C_API locus_code locus_codec_open(const char* key_file, const char* space,
                                        locus_codec** codec, locus_error* error);
/* numbers[i] of ids[i], all or none. */
LOCUS_C_API locus_code locus_codec_encode(const locus_codec* codec, const locus_order_id* ids,
                                          size_t count, locus_order_no* numbers,
                                          locus_error* error);
/* LOCUS_INVALID_ARGUMENT: it is no order_no of this space under a key of the ring. */
LOCUS_C_API locus_code locus_codec_decode(const locus_codec* codec, const locus_order_no* number,
                                          locus_order_id* id, locus_error* error);
/* The version of the ring's active key, which locus_codec_encode uses. */
LOCUS_C_API locus_code locus_codec_active_version(const locus_codec* codec, uint8_t* version,
                                                  locus_error* error);

/* 64-bit numbers for a BIGINT column (ff1), of narrow order IDs. Such a number does not say its
 * key's version: store that beside it. It is not authenticated: a number found in a row is right
 * only if it decodes to that row's order ID. LOCUS_INVALID_ARGUMENT: an ID is wide.
 * LOCUS_NOT_FOUND: the ring has no key of this version. */
LOCUS_C_API locus_code locus_codec_encode_ff1(const locus_codec* codec, const locus_order_id* ids,
                                              size_t count, uint8_t version, int64_t* numbers,
                                              locus_error* error);
/* LOCUS_INVALID_ARGUMENT: the number is negative. */
LOCUS_C_API locus_code locus_codec_decode_ff1(const locus_codec* codec, int64_t number,
                                              uint8_t version, locus_order_id* id,
                                              locus_error* error);
LOCUS_C_API void locus_codec_close(locus_codec* codec);

/* --- Routing. */

typedef struct locus_router locus_router;

typedef struct locus_router_options {
  size_t size;
  const char* password;      /* or the bearer token of http; none */
  const char* password_file; /* or a file that has it */
  /* Keeps the newest table, so that a process can start while its source is down; none. Each
   * process needs its own. */
  const char* last_good_file;
  uint32_t open_timeout_ms; /* how long opening waits for the source; 0: 3 s */
  uint32_t reserved;        /* 0 */
} locus_router_options;
#define LOCUS_ROUTER_OPTIONS_INIT \
  { sizeof(locus_router_options), NULL, NULL, NULL, 0, 0 }

/* Its texts are valid until the router is closed. */
typedef struct locus_shard {
  uint32_t id;
  const char* name;
  const char* endpoint;
} locus_shard;

/* A shard that may hold orders of a buyer: those of cohorts first_cohort..end_cohort - 1. */
typedef struct locus_buyer_route {
  locus_shard shard;
  uint32_t first_cohort;
  uint32_t end_cohort;
} locus_buyer_route;

/* `table_uri`: file:PATH, etcd://..., mysql://..., http://...: see locus/routing/open.h. Follows
 * the place's tables from then on. */
LOCUS_C_API locus_code locus_router_open(const char* table_uri, const locus_router_options* options,
                                         locus_router** router, locus_error* error);
LOCUS_C_API locus_code locus_router_route(const locus_router* router, const locus_order_id* id,
                                          locus_shard* shard, locus_error* error);
/* Of a buyer or an order_no, by the gene: one route, or two while the vnode moves; *count says how
 * many. */
LOCUS_C_API locus_code locus_router_routes_of(const locus_router* router, uint16_t gene,
                                              locus_buyer_route routes[2], size_t* count,
                                              locus_error* error);
/* The epoch of the table in force; 0: `router` is NULL. */
LOCUS_C_API uint64_t locus_router_epoch(const locus_router* router);
/* Waits until a table of at least `min_epoch` is in force. */
LOCUS_C_API locus_code locus_router_refresh(locus_router* router, uint64_t min_epoch,
                                            uint32_t timeout_ms, locus_error* error);
LOCUS_C_API void locus_router_close(locus_router* router);

/* --- Sequences: one counter, taken a segment at a time. */

typedef struct locus_sequence locus_sequence;

typedef struct locus_sequence_options {
  size_t size;
  const char* password;      /* of the engine's user; none */
  const char* password_file; /* or a file that has it */
  const char* key_prefix;    /* put before the counter's name; none */
  int64_t increment;         /* between two numbers, and the first number; 0: 1 */
  int64_t max_value;         /* 0: 2^63 - 1 */
  int32_t wrap;              /* not 0: after max_value it starts again */
  uint32_t horizon_ms;       /* how long it goes on without the engine; 0: 10 minutes */
  /* For redis only: an sqlite or mysql store that keeps a ceiling for the counter, so that no
   * number repeats after Redis lost some; none. Excludes wrap. Every process must name it. */
  const char* ceiling;
  const char* ceiling_password;      /* of that store's user; none */
  const char* ceiling_password_file; /* or a file that has it */
} locus_sequence_options;
#define LOCUS_SEQUENCE_OPTIONS_INIT \
  { sizeof(locus_sequence_options), NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL }

/* `engine_uri` as of a generator. `key`: the counter's name. INVALID_ARGUMENT: it is not in
 * Unicode's normal form C, so that one name could count in two counters. FAILED_PRECONDITION: it is
 * the name of a sequence type or of a type's counter, in use or dropped: these count as the type
 * says. */
LOCUS_C_API locus_code locus_sequence_open(const char* engine_uri, const char* key,
                                           const locus_sequence_options* options,
                                           locus_sequence** sequence, locus_error* error);
LOCUS_C_API locus_code locus_sequence_next(locus_sequence* sequence, uint32_t timeout_ms,
                                           int64_t* number, locus_error* error);
/* *count numbers, at least 1 and at most what it was before the call: *first, *first + increment,
 * ... */
LOCUS_C_API locus_code locus_sequence_next_block(locus_sequence* sequence, uint32_t timeout_ms,
                                                 int64_t* first, int64_t* count,
                                                 locus_error* error);
/* Gives unused numbers back if no process has taken later ones. */
LOCUS_C_API void locus_sequence_close(locus_sequence* sequence);

/* --- Numbers by a sequence type of the store (locus seq type create) and a key. */

typedef struct locus_numbers locus_numbers;

typedef struct locus_numbers_options {
  size_t size;
  const char* password;      /* of the engine's user; none */
  const char* password_file; /* or a file that has it */
  uint32_t horizon_ms;       /* how long it goes on without the engine; 0: 10 minutes */
  uint32_t reserved;         /* 0 */
  /* As in locus_sequence_options. */
  const char* ceiling;
  const char* ceiling_password;
  const char* ceiling_password_file;
} locus_numbers_options;
#define LOCUS_NUMBERS_OPTIONS_INIT \
  { sizeof(locus_numbers_options), NULL, NULL, 0, 0, NULL, NULL, NULL }

/* The value of a field of the pattern, by its name. Digits, for a field of digits. */
typedef struct locus_named_value {
  const char* name;
  const char* text;
} locus_named_value;

/* Numbers as they are counted: first, first + step, ... */
typedef struct locus_number_block {
  int64_t first;
  int64_t step;
  int64_t count;
  char group[9]; /* the day, month or year that they are of, such as "20261125"; empty: no period */
} locus_number_block;

#define LOCUS_NUMBER_TEXT_BYTES 257 /* with the NUL */

/* `engine_uri` as of a generator: the store of type and counters. `key`: of the counter, at most
 * 400 bytes; NULL: the empty one. LOCUS_NOT_FOUND: there is no such type, and was none.
 * LOCUS_FAILED_PRECONDITION also: it was dropped. */
LOCUS_C_API locus_code locus_numbers_open(const char* engine_uri, const char* type, const char* key,
                                          const locus_numbers_options* options,
                                          locus_numbers** numbers, locus_error* error);
/* The next number, as the type's pattern writes it. `values`: of all fields of the pattern that the
 * counter and the clock do not fill, in any order; refused values cost no number. */
LOCUS_C_API locus_code locus_numbers_next(locus_numbers* numbers, uint32_t timeout_ms,
                                          const locus_named_value* values, size_t value_count,
                                          char text[LOCUS_NUMBER_TEXT_BYTES], locus_error* error);
/* The next 1 to `count` numbers of one group, for callers that write them themselves. */
LOCUS_C_API locus_code locus_numbers_next_block(locus_numbers* numbers, uint32_t timeout_ms,
                                                int64_t count, locus_number_block* block,
                                                locus_error* error);
/* Gives unused numbers back if the type says so. */
LOCUS_C_API void locus_numbers_close(locus_numbers* numbers);

/* --- Snowflake IDs under a leased worker ID. */

typedef struct locus_snowflake locus_snowflake;

typedef struct locus_snowflake_options {
  size_t size;
  const char* space;         /* "orders" */
  const char* password;      /* of the store's user; none */
  const char* password_file; /* or a file that has it */
  uint32_t ttl_ms;           /* of the lease; 0: 10 minutes */
  uint32_t patience_ms;      /* how long opening waits for the store; 0: 10 s */
  uint32_t first_worker;     /* the worker IDs that may be taken; both 0: all of 0..1023 */
  uint32_t last_worker;
  int32_t reacquire; /* not 0: takes another worker ID after it lost one */
  uint32_t reserved; /* 0 */
} locus_snowflake_options;
#define LOCUS_SNOWFLAKE_OPTIONS_INIT \
  { sizeof(locus_snowflake_options), NULL, NULL, NULL, 0, 0, 0, 0, 0, 0 }

/* `lease_uri`: sqlite:PATH, mysql://..., redis://..., etcd://..., zookeeper://..., locusd://...
 * The space must exist: `locus lease create`, the first time with --first-ever. */
LOCUS_C_API locus_code locus_snowflake_open(const char* lease_uri,
                                            const locus_snowflake_options* options,
                                            locus_snowflake** snowflake, locus_error* error);
LOCUS_C_API locus_code locus_snowflake_next(locus_snowflake* snowflake, int64_t* id,
                                            locus_error* error);
/* As locus_generator_next_batch. */
LOCUS_C_API locus_code locus_snowflake_next_batch(locus_snowflake* snowflake, int64_t* ids,
                                                  size_t count, size_t* made, locus_error* error);
LOCUS_C_API locus_code locus_snowflake_worker(const locus_snowflake* snowflake, uint64_t* worker,
                                              locus_error* error);
/* Gives the worker ID back. */
LOCUS_C_API void locus_snowflake_close(locus_snowflake* snowflake);

/* --- UUIDs of version 7. */

#define LOCUS_UUID_BYTES 16
LOCUS_C_API locus_code locus_uuid_v7(uint8_t bytes[LOCUS_UUID_BYTES], locus_error* error);

#ifdef __cplusplus
}
#endif

#endif /* LOCUS_LOCUS_C_H_ */
