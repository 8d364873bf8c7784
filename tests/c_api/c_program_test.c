/* SPDX-License-Identifier: Apache-2.0 */
/* A program in C99: order IDs from a file of its own. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "locus/locus_c.h"

static int failed(const char* what, const locus_error* error) {
  fprintf(stderr, "%s: %s: %s\n", what, locus_code_name(error->code), error->message);
  return 1;
}

int main(void) {
  char directory[] = "/tmp/locus-c-XXXXXX";
  char path[64];
  char uri[96];
  static const char* const kEnds[] = {"", "-wal", "-shm", "-locus", "-locus-lock"};
  locus_generator_options options = LOCUS_GENERATOR_OPTIONS_INIT;
  locus_generator* generator = NULL;
  locus_order_id ids[100];
  locus_order_id_parts parts;
  char text[LOCUS_ORDER_ID_TEXT_BYTES];
  locus_error error;
  size_t i;
  const uint16_t gene = locus_gene_of_uint64(12345);

  if (mkdtemp(directory) == NULL) return 1;
  snprintf(path, sizeof path, "%s/store.db", directory);
  snprintf(uri, sizeof uri, "sqlite:%s", path);

  if (locus_generator_open(uri, NULL, &generator, &error) != LOCUS_NOT_FOUND) {
    fprintf(stderr, "a missing store: %s\n", locus_code_name(error.code));
    return 1;
  }
  options.create = 1;
  if (locus_generator_open(uri, &options, &generator, &error) != LOCUS_OK) {
    return failed("open", &error);
  }
  for (i = 0; i < 100; ++i) {
    if (locus_generator_next(generator, gene, 10000, &ids[i], &error) != LOCUS_OK) {
      return failed("next", &error);
    }
    if (i > 0 && ids[i].first <= ids[i - 1].first) {
      fprintf(stderr, "IDs do not rise\n");
      return 1;
    }
    if (locus_order_id_split(&ids[i], &parts, NULL) != LOCUS_OK || parts.gene != gene) {
      fprintf(stderr, "another gene\n");
      return 1;
    }
  }
  if (locus_order_id_text(&ids[99], text, &error) != LOCUS_OK) return failed("text", &error);
  printf("locus %s: %s\n", locus_version(), text);
  locus_generator_close(generator);
  for (i = 0; i < sizeof kEnds / sizeof kEnds[0]; ++i) {
    snprintf(uri, sizeof uri, "%s%s", path, kEnds[i]);
    remove(uri);
  }
  rmdir(directory);
  return 0;
}
