package hook

import (
	"bytes"
	"time"
)

// outputCapture reads all output and stores the first part.
type outputCapture struct {
	max     int
	b       []byte
	dropped int64
	// async receives the time limit, once, if the first line of the output detaches the command. It
	// is nil if the dialect has no such line.
	async chan time.Duration
	read  bool // the first line was checked
}

func (k *outputCapture) Write(p []byte) (int, error) {
	keep := min(len(p), k.max-len(k.b))
	k.b = append(k.b, p[:keep]...)
	k.dropped += int64(len(p) - keep)
	if k.async != nil && !k.read {
		k.firstLine()
	}
	return len(p), nil
}

// firstLine parses the first line as soon as it is complete.
func (k *outputCapture) firstLine() {
	if len(k.b) > 0 && k.b[0] != '{' {
		k.read = true
		return
	}
	line, _, whole := bytes.Cut(k.b, []byte("\n"))
	if !whole {
		k.read = len(k.b) > maxAsyncLine
		return
	}
	k.read = true
	if limit, ok := asyncLine(line); ok {
		k.async <- limit
	}
}

// maxAsyncLine is the maximum length of a line that detaches a command, in bytes.
const maxAsyncLine = 4 << 10

// asyncLine parses {"async": true, "asyncTimeout": 30000}; the time is in milliseconds.
func asyncLine(line []byte) (time.Duration, bool) {
	if len(line) > maxAsyncLine {
		return 0, false
	}
	limit, ok := isAsync(line)
	if limit <= 0 {
		limit = asyncTimeout
	}
	return limit, ok
}

// answered returns the output without the line that detached the command.
func (k *outputCapture) answered() []byte {
	text := bytes.TrimSpace(bytes.TrimPrefix(k.b, []byte("\xef\xbb\xbf"))) // a byte order mark, which PowerShell and others write
	if k.async == nil {
		return text
	}
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	if _, ok := asyncLine(line); ok {
		return bytes.TrimSpace(rest)
	}
	return text
}
