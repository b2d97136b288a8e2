#!/bin/sh
# Runs the tests of calendar.sh; exits with 1 when one fails.
. ./calendar.sh

passed=0 failed=0

# check NAME WANT GOT
check() {
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
		echo "ok      $1"
	else
		failed=$((failed + 1))
		echo "FAILED  $1: want $2, got $3"
	fi
}

leap() { if is_leap "$1"; then echo yes; else echo no; fi; }

check "2000 is a leap year" yes "$(leap 2000)"
check "1900 is not a leap year" no "$(leap 1900)"
check "February 2024 has 29 days" 29 "$(days_in_month 2024 2)"
check "November has 30 days" 30 "$(days_in_month 2026 11)"
check "after 14 March comes the 15th" 2026-03-15 "$(next_day 2026-03-14)"
check "after 30 January comes the 31st" 2026-01-31 "$(next_day 2026-01-30)"
check "after 29 February comes March" 2024-03-01 "$(next_day 2024-02-29)"
check "after New Year's Eve comes a new year" 2027-01-01 "$(next_day 2026-12-31)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
