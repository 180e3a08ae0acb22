/* One file's bytes in a record, and the accessor that gives them.

   Compiled once for each file that a lane made; what it says stands in macros (`stored_defines` of
   atoll.runtime.record). The assembler reads the bytes: nothing but the object is made again when they change.

   ATOLL_STORED         the accessor
   ATOLL_STORED_HEADER  the header that declares it
   ATOLL_STORED_RECORD  version and flags of the record
   ATOLL_STORED_TEXTS   its texts, as directives of the assembler
   ATOLL_STORED_PATH    the file, as the assembler spells it */
#include ATOLL_STORED_HEADER

#define ATOLL_TEXT_OF(name) #name
#define ATOLL_TEXT(name) ATOLL_TEXT_OF(name)
#define ATOLL_JOINED_OF(one, other) one##other
#define ATOLL_JOINED(one, other) ATOLL_JOINED_OF(one, other)
#define ATOLL_NAME ATOLL_TEXT(ATOLL_STORED)
#if __has_attribute(retain)
#define ATOLL_SECTION_FLAGS "aR"
#else
#define ATOLL_SECTION_FLAGS "a"
#endif

__asm__(
    ".pushsection .atoll.kernels,\"" ATOLL_SECTION_FLAGS "\",%progbits\n"
    ".balign 8\n"
    ATOLL_NAME "_record: .ascii \"ATOLLKRN\"\n"
    ".long " ATOLL_STORED_RECORD "\n"
    ".quad " ATOLL_NAME "_record_end - " ATOLL_NAME "_record, " ATOLL_NAME "_stored - " ATOLL_NAME "_record\n"
    ".quad " ATOLL_NAME "_stored_end - " ATOLL_NAME "_stored, 0\n"
    ATOLL_STORED_TEXTS
    ".balign 8\n"
    ".globl " ATOLL_NAME "_stored\n"
    ".globl " ATOLL_NAME "_stored_end\n"
    ".hidden " ATOLL_NAME "_stored\n"
    ".hidden " ATOLL_NAME "_stored_end\n"
    ATOLL_NAME "_stored: .incbin " ATOLL_STORED_PATH "\n"
    ATOLL_NAME "_stored_end: .byte 0\n"
    ".balign 8\n"
    ATOLL_NAME "_record_end:\n"
    ".popsection\n");

extern const unsigned char ATOLL_JOINED(ATOLL_STORED, _stored)[] __attribute__((visibility("hidden")));
extern const unsigned char ATOLL_JOINED(ATOLL_STORED, _stored_end)[] __attribute__((visibility("hidden")));

atoll_data ATOLL_STORED(void) {
  atoll_data found = {ATOLL_JOINED(ATOLL_STORED, _stored),
                      (size_t)(ATOLL_JOINED(ATOLL_STORED, _stored_end) - ATOLL_JOINED(ATOLL_STORED, _stored))};
  return found;
}
