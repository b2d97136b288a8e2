package workspace

import "math"

// openFiles is how many files a process may have open: fewer than any engine is held to
// itself, since it cannot give more.
const openFiles = 8192

// nanoCPUs is a number of processors in billionths, at most as many as there are: an
// engine refuses more, and more would be no limit.
func nanoCPUs(wanted float64, have int) int64 {
	if have > 0 {
		wanted = math.Min(wanted, float64(have))
	}
	return int64(math.Round(wanted * 1e9))
}
