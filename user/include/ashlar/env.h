/* The environment page: what the system description says about this process, as text. One `key=value` a line:
 *   name=PROCESS               thread.NAME=INDEX          arg.KEY=VALUE
 *   slot.KIND.NAME=SLOT        file.NAME=0xADDRESS SIZE
 *   trace=0xADDRESS SIZE       trace.thread.NUMBER=THREAD
 * The page is mapped read-only at ENV_VADDR and ends with a NUL. */
#ifndef ASHLAR_ENV_H
#define ASHLAR_ENV_H

#include <stddef.h>
#include <stdint.h>

/* ---- look-ups in this process's own page ---- */

/* Slot of a grant, by "kind.name", e.g. "endpoint.echo"; NO_SLOT if there is none. */
uint32_t env_slot(const char *name);
/* The first slot of a kind, e.g. "console"; NO_SLOT if there is none. */
uint32_t env_slot_of_kind(const char *kind);
/* Child number `index` of this process, from 0 in the order of the description: its name, NUL-terminated and cut to `size`, and
 * the slot of its grant. 0 if there is none, else 1. */
int env_child(uint32_t index, char *name, size_t size, uint32_t *slot);
/* Address and bytes of a file that the description mapped into this process; 0 if there is none, else 1. */
int env_file(const char *name, const void **address, uint64_t *size);
/* The same of the kernel's trace, which this process has with `trace = true`; trace.h reads it. */
int env_trace(const void **address, uint64_t *size);
/* Index of a named thread of this process; NO_SLOT if there is none. */
uint32_t env_thread(const char *name);
/* Copies an argument's text, NUL-terminated and cut to `size`; returns its whole length or -1 if it is not given. */
long env_arg(const char *name, char *buffer, size_t size);
/* An argument as a number (decimal, 0x hexadecimal, suffix K, M or G); `fallback` if not given or not a number. */
uint64_t env_arg_u64(const char *name, uint64_t fallback);
/* This process's name, NUL-terminated and cut to `size`. */
void env_name(char *buffer, size_t size);

/* ---- the parser itself, on any text (host tests use it) ---- */

/* The value of prefix + name ("slot." + "endpoint.echo") and its length; null if there is no such line. */
const char *env_text_find(const char *text, const char *prefix, const char *name, size_t *length);
/* First value whose key begins with prefix + name + "."; null if there is none. */
const char *env_text_first(const char *text, const char *prefix, const char *name, size_t *length);
/* Number `index`, from 0, of the lines whose key begins with prefix: the rest of the key, its length, the value and its length;
 * null if there is none. */
const char *env_text_entry(const char *text, const char *prefix, uint32_t index, size_t *key_length, const char **value,
                           size_t *value_length);
/* Reads a number at the start of `length` bytes; returns how many bytes it took, 0 if there is no number or it
 * exceeds 64 bits. */
size_t env_text_number(const char *value, size_t length, uint64_t *number);

#endif
