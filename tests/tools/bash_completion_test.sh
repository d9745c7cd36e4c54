#!/usr/bin/env bash
# The completion script in a real bash: what it offers for lines as a person types them.
set -euo pipefail
PATH=${KVORUM_BIN_DIR:-build/release/bin}:$PATH
source <(kvorumctl completion bash)

# offers LINE WORD...: completing LINE offers exactly these words.
offers() {
  local line=$1
  shift
  COMP_LINE=$line COMP_POINT=${#line} _kvorumctl
  if [[ "${COMPREPLY[*]-}" != "$*" ]]; then
    echo "\"$line\" offers: ${COMPREPLY[*]-}"
    echo "expected: $*"
    exit 1
  fi
}

offers 'kvorumctl pu' put
offers 'kvorumctl endpoint ' health status hashkv
offers 'kvorumctl get a --min' --min-create-rev --min-mod-rev
offers 'kvorumctl get a -w ' fields json protobuf simple table
# bash replaces only what follows the equals sign.
offers 'kvorumctl get a --write-out=j' json
offers 'kvorumctl nonsense '
echo "bash completion: as expected"
