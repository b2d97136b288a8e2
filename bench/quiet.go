//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// quiet waits until nothing else runs, so that work which one row leaves to the kernel, such as
// removing network namespaces, does not slow down the next row. It gives up after a while, and
// counts that.
type quiet struct {
	waits, gaveUp int
	spent         time.Duration // time spent waiting until wait gave up
}

const (
	quietWindow  = 60 * time.Millisecond // at 100 ticks a second, this is a few ticks of each processor
	quietWindows = 2                     // quiet windows in a row, because the kernel removes namespaces with pauses

	quietPatience = 700 * time.Millisecond // for a busy machine
	quietBudget   = 20 * time.Second       // in total, so that a run ends on a busy machine, too
)

func (q *quiet) wait() error {
	q.waits++
	if q.spent >= quietBudget {
		q.gaveUp++
		return nil
	}
	before, err := busyTicks()
	if err != nil {
		return err
	}
	window := time.NewTicker(quietWindow)
	defer window.Stop()
	calm := 0
	for end := time.Now().Add(quietPatience); time.Now().Before(end); {
		<-window.C
		now, err := busyTicks()
		if err != nil {
			return err
		}
		if calm++; now-before > 1 {
			calm = 0
		}
		if before = now; calm == quietWindows {
			return nil
		}
	}
	q.gaveUp++
	q.spent += quietPatience
	return nil
}

// String reports how often the machine was not quiet, or "".
func (q *quiet) String() string {
	if q.gaveUp == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d blocks began while other programs ran: measure again when they have ended", q.gaveUp, q.waits)
}

// busyTicks returns the busy time of all processors, in ticks.
func busyTicks() (int64, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return parseBusy(string(b))
}

func parseBusy(stat string) (int64, error) {
	line, _, _ := strings.Cut(stat, "\n")
	f := strings.Fields(line)
	if len(f) < 8 || f[0] != "cpu" {
		return 0, errors.New("/proc/stat: the first line is not about all processors")
	}
	var sum int64
	for i, text := range f[1:8] {
		if i == 3 || i == 4 { // idle time, and idle time during disk access
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		sum += n
	}
	return sum, nil
}
