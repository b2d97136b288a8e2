# Dates as YYYY-MM-DD. Needs a POSIX shell and no other program.

# is_leap YEAR succeeds in leap years.
is_leap() {
	[ $(($1 % 4)) -eq 0 ] && { [ $(($1 % 100)) -ne 0 ] || [ $(($1 % 400)) -eq 0 ]; }
}

# days_in_month YEAR MONTH prints how many days the month has.
days_in_month() {
	case $2 in
	4 | 6 | 9 | 11) echo 30 ;;
	2) if is_leap "$1"; then echo 29; else echo 28; fi ;;
	*) echo 31 ;;
	esac
}

# next_day DATE prints the day after.
next_day() {
	year=${1%%-*} month=${1#*-} day=${1##*-}
	month=${month%-*}
	month=${month#0} day=$((${day#0} + 1))
	if [ "$day" -ge "$(days_in_month "$year" "$month")" ]; then
		day=1 month=$((month + 1))
	fi
	if [ "$month" -gt 12 ]; then
		month=1 year=$((year + 1))
	fi
	printf '%04d-%02d-%02d\n' "$year" "$month" "$day"
}
