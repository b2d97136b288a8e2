package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// Limits for the output of a stdio server.
const (
	maxMessage = 16 << 20 // bytes of one message
	maxNoise   = 1000     // invalid lines of one connection
)

var errTooLong = fmt.Errorf("a message is larger than %d MiB", maxMessage>>20)

// lines reads one message per line, and passes on only valid messages. Many servers also write
// other lines to standard output, which must not end the connection. Skipped lines are added to the
// server's standard error.
type lines struct {
	in      *bufio.Reader
	noise   *stderrTail
	close   func()
	rest    []byte
	skipped int // number of skipped lines
	err     error
	over    chan struct{} // closed when reading has ended
}

func newLines(in io.Reader, noise *stderrTail, end func()) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), noise: noise, close: end, over: make(chan struct{})}
}

func (l *lines) Read(b []byte) (int, error) {
	for len(l.rest) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		var line []byte
		if line, l.err = l.line(); l.err != nil {
			close(l.over)
		}
		if isMessage(line) {
			l.rest = append(bytes.TrimSpace(line), '\n')
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			l.skipped++
			_, _ = l.noise.Write(append(line[:min(len(line), 500):min(len(line), 500)], '\n'))
		}
		if l.skipped > maxNoise && l.err == nil {
			close(l.over)
			l.err = fmt.Errorf("the server writes invalid messages to standard output (%d so far)", l.skipped)
		}
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Close ends the server.
func (l *lines) Close() error {
	l.close()
	return nil
}

// line reads one line. A line that is too long is an error.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxMessage:
			return nil, errTooLong
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		return line, err
	}
}

// isMessage reports whether a line may be a JSON-RPC message or batch.
func isMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' && line[0] != '[' || !bytes.Contains(line, []byte(`"jsonrpc"`)) {
		return false
	}
	return jsonscan.Valid(line)
}
