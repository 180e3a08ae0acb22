/* Record format 1: how embedded device code lies in a linked file, so that it can be measured there.
 * See docs/reference/record-format.md; atoll.runtime.record writes and reads it.
 *
 * The ELF section `.atoll.kernels` holds records one after the other, each at a multiple of 8 bytes;
 * zero bytes between them are padding. Numbers are little endian. */
#ifndef ATOLL_RECORD_H
#define ATOLL_RECORD_H
#include <stdint.h>

#define ATOLL_RECORD_SECTION ".atoll.kernels"
#define ATOLL_RECORD_MAGIC "ATOLLKRN"
#define ATOLL_RECORD_VERSION 1u

enum { ATOLL_RECORD_DECLARED = 1 }; /* flags: the backend is not in the payload's bytes but stated */

/* The first 48 bytes. Six texts follow, UTF-8, each ended by one zero byte, in this order: backend,
 * arch, floor, version, entry, kind; a seventh may, the payload's name. Then zero bytes up to `payload`,
 * the payload, and at least one zero byte up to `total`. */
typedef struct atoll_record {
  char magic[8];          /* ATOLL_RECORD_MAGIC without its zero byte */
  uint32_t format;        /* ATOLL_RECORD_VERSION */
  uint32_t flags;
  uint64_t total;         /* bytes of the whole record, a multiple of 8 */
  uint64_t payload;       /* offset of the payload from the record's first byte, a multiple of 8 */
  uint64_t payload_bytes;
  uint64_t reserved;      /* 0 */
} atoll_record;

/* Place a constant array in the section, and keep it there: `retain` against --gc-sections. */
#ifndef ATOLL_RECORD_PLACED
#if __has_attribute(retain)
#define ATOLL_RECORD_PLACED __attribute__((section(ATOLL_RECORD_SECTION), used, retain, aligned(8)))
#else
#define ATOLL_RECORD_PLACED __attribute__((section(ATOLL_RECORD_SECTION), used, aligned(8)))
#endif
#endif
#endif
