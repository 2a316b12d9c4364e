# SPDX-License-Identifier: BSD-2-Clause
# libfabric's verbs provider. -c compares the data.
fi_check() {
	! grep -qiE 'error|integrity|fail' "$1" && awk '$1 ~ /^[0-9]+k?m?$/ {l = $1 " B: " $(NF-1) " us"; n++} END {print l; exit !n}' "$1"
}
ofi() { # PROVIDER ARGUMENTS [ENVIRONMENT]
	use fi_pingpong "${3:+$3 }-p $1 $2" 120 tcp:47592 "$3 fi_pingpong -p '$1' $2" "$3 fi_pingpong -p '$1' $2 $S" fi_check
}
use fi_info "-p verbs" 60 none true "fi_info -p verbs | grep -q $DEV"
ofi verbs "-e msg -c -I 50 -S 1024"
ofi verbs "-e msg -c -I 5 -S all"
ofi verbs "-e dgram -c -I 50 -S 512"
ofi "verbs;ofi_rxm" "-e rdm -c -I 20 -S 1024"
ofi "verbs;ofi_rxm" "-e rdm -c -I 10 -S 65536"
ofi "verbs;ofi_rxm" "-e rdm -c -I 5 -S 1048576"
ofi "verbs;ofi_rxm" "-e rdm -m tagged -c -I 20 -S 1024"
ofi "verbs;ofi_rxd" "-e rdm -c -I 20 -S 512"
