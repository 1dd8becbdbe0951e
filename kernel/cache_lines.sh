#!/bin/sh
# Holds the image against what its sources say of cache lines of 64 bytes. Run by the Makefile:
#   cache_lines.sh IMAGE COMPILER FLAG... -- SOURCE...
# A comment with the words "cache line" before a structure claims that each element of its array has lines of its own: then the
# structure's size is a multiple of 64 and the array begins at one. So does every other object of such a size, or two objects
# would share a line for nothing.
set -eu
image=$1
shift
compile=
while [ "$1" != -- ]; do
    compile="$compile '$1'"
    shift
done
shift

# Lines of: source, structure, array.
claims() {
    awk '
        FNR == 1 { comment = ""; structure = "" }
        /^\/\*/ { comment = "" }
        /^(\/\*| \*)/ { comment = comment " " $0 }
        /^struct [a-z_0-9]+ \{/ {
            if (tolower(comment) ~ /one( +\*)? +cache( +\*)? +line/) claimed[FILENAME, $2] = 1
            comment = ""
        }
        /^static struct [a-z_0-9]+ [a-z_0-9]+\[/ {
            split($4, name, "[")
            if ((FILENAME, $3) in claimed) print FILENAME, $3, name[1]
        }' "$@"
}

found=$(claims "$@")
[ -n "$found" ] || { echo "$image: no source claims a cache line; is cache_lines.sh right?" >&2; exit 1; }
faults=0
for source in $(echo "$found" | cut -d' ' -f1 | sort -u); do
    {
        printf '#include "%s"\n' "$source"
        echo "$found" | awk -v source="$source" '$1 == source {
            printf "_Static_assert(sizeof(struct %s) %% 64 == 0, \"struct %s claims a cache line: add spare words\");\n", $2, $2
        }'
    } | eval "$compile -fsyntax-only -x c -" || faults=1
done
readelf -sW "$image" | awk -v image="$image" -v found="$found" '
    BEGIN {
        count = split(found, word, /[ \n]/)
        for (i = 3; i <= count; i += 3) claimed[word[i]] = word[i - 2]
    }
    $4 == "OBJECT" {
        name = $8
        sub(/\.lto_priv\.[0-9]+$/, "", name)
        delete claimed[name]
        lines = $3 ~ /^0x/ ? $3 ~ /[048c]0$/ : $3 > 0 && $3 % 64 == 0
        if (lines && $2 !~ /[048c]0$/) {
            print image ": " name ", " $3 " bytes at " $2 ", does not begin at a cache line: align it to 64" > "/dev/stderr"
            faults = 1
        }
    }
    END {
        for (name in claimed) {
            print claimed[name] ": " name " is not in the image, so its cache lines cannot be seen" > "/dev/stderr"
            faults = 1
        }
        exit faults
    }' || faults=1
[ "$faults" = 0 ] && echo "$found"
