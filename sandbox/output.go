package sandbox

import (
	"fmt"
	"io"
	"sync"
)

// tailSize is how many bytes at the end of standard error are searched for refusals.
const tailSize = 16 << 10

// tail keeps the last bytes written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > tailSize {
		p = p[len(p)-tailSize:]
	}
	if len(t.b)+len(p) > 2*tailSize {
		t.b = t.b[:copy(t.b, t.bytes())]
	}
	t.b = append(t.b, p...)
	return n, nil
}

func (t *tail) bytes() []byte { return t.b[max(0, len(t.b)-tailSize):] }

// tailWriter forwards writes to another writer and keeps the last bytes.
type tailWriter struct {
	io.Writer
	tail *tail
}

func (t *tailWriter) Write(p []byte) (int, error) {
	_, _ = t.tail.Write(p)
	return t.Writer.Write(p)
}

// budget is the remaining output of a command, shared by all its streams.
type budget struct {
	limit int64

	mu      sync.Mutex
	used    int64
	dropped int64
}

// take returns how many of n bytes may be written.
func (b *budget) take(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	pass := min(int64(n), b.limit-b.used)
	b.used += pass
	b.dropped += int64(n) - pass
	return int(pass)
}

func (b *budget) lost() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped
}

// budgeted writes what the budget allows and drops the rest, so that a command with too much output is
// not blocked.
type budgeted struct {
	w       io.Writer
	budget  *budget
	dropped int64
	midLine bool // true if the output passed so far does not end with a newline
}

func (b *budgeted) Write(p []byte) (int, error) {
	pass := b.budget.take(len(p))
	b.dropped += int64(len(p) - pass)
	if pass > 0 {
		b.midLine = p[pass-1] != '\n'
		if n, err := b.w.Write(p[:pass]); err != nil {
			return n, err
		}
	}
	return len(p), nil
}

// finish reports the dropped bytes on a separate line.
func (b *budgeted) finish() error {
	if b.dropped == 0 {
		return nil
	}
	text := fmt.Sprintf("[output limit of %s reached; %d bytes dropped]\n", byteText(b.budget.limit), b.dropped)
	if b.midLine {
		text = "\n" + text
	}
	_, err := io.WriteString(b.w, text)
	return err
}

// byteText formats a number of bytes: "1 MiB".
func byteText(n int64) string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d %s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
