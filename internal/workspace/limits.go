package workspace

import "math"

// openFiles is the limit of open files for a process. It is below the limit of every engine,
// because an engine cannot allow more than it has itself.
const openFiles = 8192

// nanoCPUs returns a number of processors in billionths of a processor. It is at most the number
// that exists, because an engine rejects a larger number, and a larger number would be no limit.
func nanoCPUs(wanted float64, have int) int64 {
	if have > 0 {
		wanted = math.Min(wanted, float64(have))
	}
	return int64(math.Round(wanted * 1e9))
}
