#!/bin/sh
# Builds seL4 for TI's OMAP3 (a Cortex-A8) in its verified configuration, for `ashlar campaign timing-foreign`.
#
#     sel4-omap3.sh FOLDER
#
# leaves FOLDER/kernel.elf. SEL4_SOURCE may name a copy of seL4's repository; it must have the commit below. seL4 is licensed
# under GPL-2.0-only: it is analysed, and no part of what is shipped.
set -eu
commit=6e7c3b733d296cfd88d5fbf635c96e447a882374 # 16.0.0
source=${SEL4_SOURCE:-https://github.com/seL4/seL4}
packages="git cmake ninja-build libxml2-utils device-tree-compiler python3-venv gcc-arm-linux-gnueabi"

folder=$1
tests=$(cd "$(dirname "$0")" && pwd)
for program in git cmake ninja xmllint dtc arm-linux-gnueabi-gcc; do
    command -v "$program" >/dev/null || {
        echo "$program is missing; install what seL4 is built with: apt-get install $packages" >&2
        exit 1
    }
done
mkdir -p "$folder"
# Shards of a campaign build at the same time; the first does, for all.
made_of="$commit $(cat "$tests/sel4-omap3.sh" "$tests/sel4-requirements.txt" | sha256sum)"
cd "$folder"
exec 9>lock
flock 9
if [ -e kernel.elf ] && [ "$(cat kernel.made-of 2>/dev/null)" = "$made_of" ]; then
    exit
fi
if [ "$(git -C source rev-parse HEAD 2>/dev/null)" != "$commit" ]; then
    rm -rf source
    git init --quiet source
    git -C source fetch --quiet --depth 1 "$source" "$commit" || {
        echo "commit $commit cannot be fetched from $source; let SEL4_SOURCE name a copy of the repository" >&2
        exit 1
    }
    git -C source checkout --quiet FETCH_HEAD
fi
if ! cmp -s "$tests/sel4-requirements.txt" python/made-of; then
    rm -rf python
    python3 -m venv python
    python/bin/pip install --quiet --no-deps -r "$tests/sel4-requirements.txt"
    cp "$tests/sel4-requirements.txt" python/made-of
fi
PATH=$PWD/python/bin:$PATH
rm -rf made
mkdir made
cd made
cmake -G Ninja -DCROSS_COMPILER_PREFIX=arm-linux-gnueabi- -DCMAKE_TOOLCHAIN_FILE=../source/gcc.cmake \
    -C ../source/configs/ARM_omap3_verified.cmake ../source >cmake.log
ninja kernel.elf >ninja.log
cp kernel.elf ../kernel.elf.new
cd ..
mv kernel.elf.new kernel.elf
echo "$made_of" >kernel.made-of
