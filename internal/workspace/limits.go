package workspace

import "math"

// openFiles is the limit of open files for a process. It is below the limit of every engine, because an engine
// cannot give more than it has.
const openFiles = 8192

// nanoCPUs returns a number of processors in billionths, at most as many as there are: an engine rejects more, and
// more would be no limit.
func nanoCPUs(wanted float64, have int) int64 {
	if have > 0 {
		wanted = math.Min(wanted, float64(have))
	}
	return int64(math.Round(wanted * 1e9))
}
