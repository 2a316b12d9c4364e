# SPDX-License-Identifier: BSD-2-Clause
# How perftest is run and its table judged. The tools compare no data; what is checked: both ends exit 0, as many lines as sizes,
# figures above zero. Column 5 is the typical latency, or the rate of messages: five messages of two bytes are 0.00 MiB/s.
perf() { # TOOL ARGUMENTS [ROWS]
	local ready=tcp:18515 check=perf_bw
	case " $2 " in *" -R "*|*" -z "*) ready=cm:18515;; esac
	case $1 in *lat) check=perf_lat;; esac
	case "$1 $2" in *lat*" -D "*) check=perf_duration;; esac
	WANT=${3:-1}
	use "$1" "$2" 120 $ready "stdbuf -oL $1 -d $DEV -F $2" "stdbuf -oL $1 -d $DEV -F $2 $S" $check
}
perf_lat() { figures "$1" 5 "$WANT" && rows "$1" | awk 'END {print $5 " us" (NR > 1 ? " at " $1 " B" : "")}'; }
perf_bw() { figures "$1" 5 "$WANT" && rows "$1" | awk 'END {print $4 " MiB/s" (NR > 1 ? " at " $1 " B" : "")}'; }
perf_duration() { figures "$1" 3 "$WANT" && rows "$1" | awk 'END {print $3 " us"}'; }
