#!/bin/sh
# Builds an image of FreeRTOS for a Cortex-M3 with three tasks, for `ashlar campaign timing-rtos`.
#
#     freertos-cm3.sh FOLDER
#
# leaves FOLDER/kernel.elf. FREERTOS_SOURCE may name a copy of the FreeRTOS-Kernel repository; it must have the commit below.
# FreeRTOS is licensed under MIT: it is analysed, and no part of what is shipped.
set -eu
commit=9b777ae5c5b8e9e456065a00294d1e5f5f9facf5 # V11.3.0
source=${FREERTOS_SOURCE:-https://github.com/FreeRTOS/FreeRTOS-Kernel}

folder=$1
tests=$(cd "$(dirname "$0")" && pwd)/freertos
for program in git arm-linux-gnueabi-gcc; do
    command -v "$program" >/dev/null || {
        echo "$program is missing; install what the image is built with: apt-get install git gcc-arm-linux-gnueabi" >&2
        exit 1
    }
done
mkdir -p "$folder"
cd "$folder"
# Shards of a campaign build at the same time.
exec 9>lock
flock 9
if [ "$(git -C source rev-parse HEAD 2>/dev/null)" != "$commit" ]; then
    rm -rf source
    git init --quiet source
    git -C source fetch --quiet --depth 1 "$source" "$commit" || {
        echo "commit $commit cannot be fetched from $source; let FREERTOS_SOURCE name a copy of the repository" >&2
        exit 1
    }
    git -C source checkout --quiet FETCH_HEAD
fi
port=source/portable/GCC/ARM_CM3
arm-linux-gnueabi-gcc -O2 -g -mthumb -mcpu=cortex-m3 -mfloat-abi=soft -ffreestanding -fno-pie -no-pie -fno-stack-protector \
    -fno-asynchronous-unwind-tables -w -nostdlib -static -Wl,--build-id=none -T "$tests/link.ld" \
    -I "$tests/libc" -I "$tests" -I source/include -I $port -o kernel.elf.new \
    "$tests/main.c" source/list.c source/queue.c source/tasks.c $port/port.c source/portable/MemMang/heap_1.c
mv kernel.elf.new kernel.elf
