package supervisor

import (
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// meter watches how often the kernel killed a process of this container for lack of memory. The
// counter does not say which process was killed. It is a process that ended with SIGKILL while the
// counter grew and that we did not kill.
type meter struct {
	file string

	mu   *sync.Mutex
	seen int64
	grew time.Time
}

// While a process runs, the meter is read at this interval. If the counter grew, a process that
// ends within meterRecent after that is considered killed for lack of memory.
const (
	meterPeriod = 250 * time.Millisecond
	meterRecent = 4 * meterPeriod
)

// openMeter finds the counter of our control group, of version 2 or of version 1. In a container,
// the group's path is often the path on the host, but its files are at the top of the mount.
func openMeter() meter {
	m := meter{mu: &sync.Mutex{}}
	var v1, v2 []string
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(part) < 3:
		case part[1] == "":
			v2 = append(v2, path.Join("/sys/fs/cgroup", part[2], "memory.events"))
		case strings.Contains(","+part[1]+",", ",memory,"):
			v1 = append(v1, path.Join("/sys/fs/cgroup/memory", part[2], "memory.oom_control"))
		}
	}
	v1 = append(v1, "/sys/fs/cgroup/memory/memory.oom_control")
	v2 = append(v2, "/sys/fs/cgroup/memory.events")
	for _, file := range append(v1, v2...) {
		if n := readMeter(file); n >= 0 {
			m.file, m.seen = file, n
			break
		}
	}
	return m
}

// readMeter returns the number in the line "oom_kill N", or -1.
func readMeter(file string) int64 {
	b, err := os.ReadFile(file)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(b)) {
		if number, ok := strings.CutPrefix(line, "oom_kill "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}

// count returns the counter, or -1 if there is none.
func (m *meter) count() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == "" {
		return -1
	}
	if n := readMeter(m.file); n > m.seen {
		m.seen, m.grew = n, time.Now()
	}
	return m.seen
}

// recent reports whether the counter grew recently.
func (m *meter) recent() bool {
	m.count()
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.grew.IsZero() && time.Since(m.grew) < meterRecent
}
