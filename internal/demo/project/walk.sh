#!/bin/sh
# Walks day by day from 2021 to the end of 2024 and counts the steps.
. ./calendar.sh

date=2021-01-01 days=0
while [ "$date" != 2025-01-01 ]; do
	date=$(next_day "$date") days=$((days + 1))
	if [ "$days" -gt 2000 ]; then
		echo "lost on the way, at $date"
		exit 1
	fi
done

echo "$days days in four years"
[ "$days" -eq 1461 ]
