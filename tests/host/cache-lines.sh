# The check of cache lines accepts the kernel and finds a claim that is false, one that the image lacks, and an image without lines.
set -eu
make --no-print-directory -C kernel
image=build/kernel/x86_64-ticket/ashlar.elf
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Expects a refusal that says $1.
refused() {
    said=$1
    shift
    if sh kernel/cache_lines.sh "$@" > /dev/null 2> "$folder/said"; then
        echo "accepted, although: $said"
        exit 1
    fi
    grep -q "$said" "$folder/said" || { cat "$folder/said"; exit 1; }
}

claim() {
    printf '/* One cache\n * line each. */\nstruct pagemap {\n    char byte[%s];\n};\n\nstatic struct pagemap %s[4];\n' "$1" "$2"
}

claim 64 pagemap > "$folder/right.c"
sh kernel/cache_lines.sh "$image" gcc -- "$folder/right.c" > /dev/null
claim 63 pagemap > "$folder/short.c"
refused "struct pagemap claims a cache line" "$image" gcc -- "$folder/short.c"
claim 64 absent > "$folder/absent.c"
refused "absent is not in the image" "$image" gcc -- "$folder/absent.c"
echo 'int nothing;' > "$folder/none.c"
refused "no source claims a cache line" "$image" gcc -- "$folder/none.c"
cat > "$folder/crooked.c" << 'CODE'
_Alignas(64) char pagemap[256];
__asm__(".data; .balign 64; .skip 4; .type crooked, @object; .size crooked, 64; crooked: .skip 64; .text");
int main(void)
{
    return pagemap[0];
}
CODE
gcc -o "$folder/crooked" "$folder/crooked.c"
refused "crooked, 64 bytes at .* does not begin at a cache line" "$folder/crooked" gcc -- "$folder/right.c"
