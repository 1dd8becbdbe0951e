#!/bin/sh
# Fetches the TACLe benchmarks, for `ashlar campaign timing-suites`.
#
#     taclebench.sh FOLDER
#
# leaves them in FOLDER/source. TACLEBENCH_SOURCE may name a copy of their repository; it must have the commit below. The programs
# are licensed each in its own way: they are analysed, and no part of what is shipped.
set -eu
commit=92706060281652427d247639ee5ee4923e42e7c3
source=${TACLEBENCH_SOURCE:-https://github.com/tacle/tacle-bench}

folder=$1
command -v git >/dev/null || {
    echo "git is missing; install it: apt-get install git" >&2
    exit 1
}
mkdir -p "$folder"
cd "$folder"
# Shards share the folder: one of them fetches.
exec 9>lock
flock 9
if [ "$(git -C source rev-parse HEAD 2>/dev/null)" != "$commit" ]; then
    rm -rf source
    git init --quiet source
    git -C source fetch --quiet --depth 1 "$source" "$commit" || {
        echo "commit $commit cannot be fetched from $source; let TACLEBENCH_SOURCE name a copy of the repository" >&2
        exit 1
    }
    git -C source checkout --quiet FETCH_HEAD
fi
