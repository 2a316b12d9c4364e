#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each file that git knows has an SPDX line in its first five lines, or REUSE.toml names it; each licence's text is in LICENSES/.
cd "$(dirname "$0")/.." || exit 1
covered=$(sed -n 's/^path = //p' REUSE.toml | tr -d '[]",')
bad=0
while read -r f; do
	[ -f "$f" ] || continue # deleted, not committed yet
	case $f in LICENSES/*) continue ;; esac
	for glob in $covered; do
		# shellcheck disable=SC2053 # a pattern
		[[ $f == $glob ]] && continue 2
	done
	head -n 5 "$f" | grep -q 'SPDX-License-Identifier: ' || { echo "FAIL $f has no SPDX line"; bad=$((bad + 1)); }
done < <(git ls-files)
for name in $(git grep -hoE 'SPDX-License-Identifier: .*' -- ':!LICENSES' ':!tests/licences.sh' | sed 's/SPDX-License-Identifier: //; s/-->.*//; s#\*/.*##; s/-or-later//; s/-only//; s/"//g' | grep -oE '[A-Za-z]+-[A-Za-z0-9.-]+' | sort -u); do
	[ -e "LICENSES/$name.txt" ] || { echo "FAIL no text of licence $name"; bad=$((bad + 1)); }
done
[ $bad = 0 ] && echo "1 passed, 0 failed" || { echo "0 passed, $bad failed"; exit 1; }
