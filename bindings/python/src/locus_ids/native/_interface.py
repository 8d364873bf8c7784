# SPDX-License-Identifier: Apache-2.0
"""The interface of liblocus.so as cffi reads it: that of include/locus/locus_c.h, which a test
compares with this text."""

CDEF = """
typedef enum locus_code {
  LOCUS_OK = 0,
  LOCUS_CANCELLED = 1,
  LOCUS_UNKNOWN = 2,
  LOCUS_INVALID_ARGUMENT = 3,
  LOCUS_DEADLINE_EXCEEDED = 4,
  LOCUS_NOT_FOUND = 5,
  LOCUS_ALREADY_EXISTS = 6,
  LOCUS_PERMISSION_DENIED = 7,
  LOCUS_RESOURCE_EXHAUSTED = 8,
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
  int32_t code;
  char message[LOCUS_MESSAGE_BYTES];
} locus_error;
const char* locus_version(void);
const char* locus_code_name(int32_t code);
uint16_t locus_gene_of_uint64(uint64_t buyer);
uint16_t locus_gene_of_text(const char* buyer, size_t length);
typedef struct locus_order_id {
  uint64_t first;
  uint64_t rest;
} locus_order_id;
typedef struct locus_order_id_parts {
  uint16_t gene;
  uint16_t cohort;
  uint32_t width;
  uint64_t sequence;
} locus_order_id_parts;
#define LOCUS_ORDER_ID_BYTES 16
#define LOCUS_ORDER_ID_TEXT_BYTES 33
locus_code locus_order_id_make(uint16_t gene, uint64_t sequence, locus_order_id* id,
                                           locus_error* error);
locus_code locus_order_id_parse(const char* text, size_t length, locus_order_id* id,
                                            locus_error* error);
locus_code locus_order_id_from_bytes(const void* bytes, size_t length,
                                                 locus_order_id* id, locus_error* error);
locus_code locus_order_id_text(const locus_order_id* id,
                                           char text[LOCUS_ORDER_ID_TEXT_BYTES],
                                           locus_error* error);
locus_code locus_order_id_bytes(const locus_order_id* id,
                                            uint8_t bytes[LOCUS_ORDER_ID_BYTES], size_t* length,
                                            locus_error* error);
locus_code locus_order_id_split(const locus_order_id* id, locus_order_id_parts* parts,
                                            locus_error* error);
typedef struct locus_generator locus_generator;
typedef struct locus_generator_options {
  size_t size;
  const char* space;
  const char* password;
  const char* password_file;
  int32_t create;
  int32_t wide;
  uint32_t horizon_ms;
  uint32_t reserved;
} locus_generator_options;
locus_code locus_generator_open(const char* store_uri,
                                            const locus_generator_options* options,
                                            locus_generator** generator, locus_error* error);
locus_code locus_generator_next(locus_generator* generator, uint16_t gene,
                                            uint32_t timeout_ms, locus_order_id* id,
                                            locus_error* error);
locus_code locus_generator_next_batch(locus_generator* generator, const uint16_t* genes,
                                                  size_t count, uint32_t timeout_ms,
                                                  locus_order_id* ids, size_t* made,
                                                  locus_error* error);
locus_code locus_generator_warm(locus_generator* generator, uint32_t timeout_ms,
                                            locus_error* error);
void locus_generator_close(locus_generator* generator);
typedef struct locus_order_no {
  uint64_t high;
  uint64_t low;
} locus_order_no;
#define LOCUS_ORDER_NO_BYTES 16
#define LOCUS_ORDER_NO_TEXT_BYTES 27
locus_code locus_order_no_parse(const char* text, size_t length, locus_order_no* number,
                                            locus_error* error);
locus_code locus_order_no_from_bytes(const void* bytes, size_t length,
                                                 locus_order_no* number, locus_error* error);
locus_code locus_order_no_text(const locus_order_no* number,
                                           char text[LOCUS_ORDER_NO_TEXT_BYTES],
                                           locus_error* error);
locus_code locus_order_no_bytes(const locus_order_no* number,
                                            uint8_t bytes[LOCUS_ORDER_NO_BYTES],
                                            locus_error* error);
locus_code locus_order_no_gene(const locus_order_no* number, uint16_t* gene,
                                           locus_error* error);
typedef struct locus_codec locus_codec;
locus_code locus_codec_open(const char* key_file, const char* space,
                                        locus_codec** codec, locus_error* error);
locus_code locus_codec_encode(const locus_codec* codec, const locus_order_id* ids,
                                          size_t count, locus_order_no* numbers,
                                          locus_error* error);
locus_code locus_codec_decode(const locus_codec* codec, const locus_order_no* number,
                                          locus_order_id* id, locus_error* error);
locus_code locus_codec_active_version(const locus_codec* codec, uint8_t* version,
                                                  locus_error* error);
locus_code locus_codec_encode_ff1(const locus_codec* codec, const locus_order_id* ids,
                                              size_t count, uint8_t version, int64_t* numbers,
                                              locus_error* error);
locus_code locus_codec_decode_ff1(const locus_codec* codec, int64_t number,
                                              uint8_t version, locus_order_id* id,
                                              locus_error* error);
void locus_codec_close(locus_codec* codec);
typedef struct locus_router locus_router;
typedef struct locus_router_options {
  size_t size;
  const char* password;
  const char* password_file;
  const char* last_good_file;
  uint32_t open_timeout_ms;
  uint32_t reserved;
} locus_router_options;
typedef struct locus_shard {
  uint32_t id;
  const char* name;
  const char* endpoint;
} locus_shard;
typedef struct locus_buyer_route {
  locus_shard shard;
  uint32_t first_cohort;
  uint32_t end_cohort;
} locus_buyer_route;
locus_code locus_router_open(const char* table_uri, const locus_router_options* options,
                                         locus_router** router, locus_error* error);
locus_code locus_router_route(const locus_router* router, const locus_order_id* id,
                                          locus_shard* shard, locus_error* error);
locus_code locus_router_routes_of(const locus_router* router, uint16_t gene,
                                              locus_buyer_route routes[2], size_t* count,
                                              locus_error* error);
uint64_t locus_router_epoch(const locus_router* router);
locus_code locus_router_refresh(locus_router* router, uint64_t min_epoch,
                                            uint32_t timeout_ms, locus_error* error);
void locus_router_close(locus_router* router);
typedef struct locus_sequence locus_sequence;
typedef struct locus_sequence_options {
  size_t size;
  const char* password;
  const char* password_file;
  const char* key_prefix;
  int64_t increment;
  int64_t max_value;
  int32_t wrap;
  uint32_t horizon_ms;
  const char* ceiling;
  const char* ceiling_password;
  const char* ceiling_password_file;
} locus_sequence_options;
locus_code locus_sequence_open(const char* engine_uri, const char* key,
                                           const locus_sequence_options* options,
                                           locus_sequence** sequence, locus_error* error);
locus_code locus_sequence_next(locus_sequence* sequence, uint32_t timeout_ms,
                                           int64_t* number, locus_error* error);
locus_code locus_sequence_next_block(locus_sequence* sequence, uint32_t timeout_ms,
                                                 int64_t* first, int64_t* count,
                                                 locus_error* error);
void locus_sequence_close(locus_sequence* sequence);
typedef struct locus_numbers locus_numbers;
typedef struct locus_numbers_options {
  size_t size;
  const char* password;
  const char* password_file;
  uint32_t horizon_ms;
  uint32_t reserved;
  const char* ceiling;
  const char* ceiling_password;
  const char* ceiling_password_file;
} locus_numbers_options;
typedef struct locus_named_value {
  const char* name;
  const char* text;
} locus_named_value;
typedef struct locus_number_block {
  int64_t first;
  int64_t step;
  int64_t count;
  char group[9];
} locus_number_block;
#define LOCUS_NUMBER_TEXT_BYTES 257
locus_code locus_numbers_open(const char* engine_uri, const char* type, const char* key,
                                          const locus_numbers_options* options,
                                          locus_numbers** numbers, locus_error* error);
locus_code locus_numbers_next(locus_numbers* numbers, uint32_t timeout_ms,
                                          const locus_named_value* values, size_t value_count,
                                          char text[LOCUS_NUMBER_TEXT_BYTES], locus_error* error);
locus_code locus_numbers_next_block(locus_numbers* numbers, uint32_t timeout_ms,
                                                int64_t count, locus_number_block* block,
                                                locus_error* error);
void locus_numbers_close(locus_numbers* numbers);
typedef struct locus_snowflake locus_snowflake;
typedef struct locus_snowflake_options {
  size_t size;
  const char* space;
  const char* password;
  const char* password_file;
  uint32_t ttl_ms;
  uint32_t patience_ms;
  uint32_t first_worker;
  uint32_t last_worker;
  int32_t reacquire;
  uint32_t reserved;
} locus_snowflake_options;
locus_code locus_snowflake_open(const char* lease_uri,
                                            const locus_snowflake_options* options,
                                            locus_snowflake** snowflake, locus_error* error);
locus_code locus_snowflake_next(locus_snowflake* snowflake, int64_t* id,
                                            locus_error* error);
locus_code locus_snowflake_next_batch(locus_snowflake* snowflake, int64_t* ids,
                                                  size_t count, size_t* made, locus_error* error);
locus_code locus_snowflake_worker(const locus_snowflake* snowflake, uint64_t* worker,
                                              locus_error* error);
void locus_snowflake_close(locus_snowflake* snowflake);
#define LOCUS_UUID_BYTES 16
locus_code locus_uuid_v7(uint8_t bytes[LOCUS_UUID_BYTES], locus_error* error);
"""
