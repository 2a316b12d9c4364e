#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Does the judge of perftest's tables (steps.sh, figures) accept what it should, and nothing else? No guest needed.
export FRNIC_LIB=/dev/null
. "$(dirname "$0")/steps.sh"
t=$(mktemp) || exit 1
trap 'rm -f "$t"' EXIT

judge() { # NAME STATUS ROWS, table on standard input
	cat > "$t"
	figures "$t" 5 "$3"; [ $? = "$2" ]; verdict "figures: $1" $? "$t"
}
good=' 2       5          60.11          99.02        65.21           66.02            0.30            70.11           70.11'
lost=' 4       5          inf            inf          inf             inf              0.00            inf             inf'
noise='Correlation coefficient r^2: 0.871 < 0.9'

judge 'two rows' 0 2 <<< "$good"$'\n'"$good"
judge 'a row is missing' 1 3 <<< "$good"$'\n'"$good"
judge 'no table' 1 1 <<< 'Unable to init the socket connection'
judge 'row without a figure, calibration failed' 0 2 <<< "$good"$'\n'"$noise"$'\n'"$lost"
judge 'row without a figure, and no reason' 1 2 <<< "$good"$'\n'"$lost"
judge 'two rows without a figure, one reason' 1 2 <<< "$lost"$'\n'"$noise"$'\n'"$lost"
judge 'zero' 1 1 <<< "${good/65.21/0.00}"
judge 'negative' 1 1 <<< "${good/65.21/-3.10}"
steps_end
