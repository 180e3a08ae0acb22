/* Compiled into an archive of embedded files, which may hold no other object: not every linker takes an empty
   one. A declaration, because an empty translation unit is not C. */
typedef int atoll_anchor;
