package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxJSONLine is the longest line in bytes that a batch reads.
const maxJSONLine = 4 << 20

var errLongLine = fmt.Errorf("the line is longer than %d MiB", maxJSONLine>>20)

// jsonLines reads a stream of JSON objects, one per line.
type jsonLines struct {
	r    *bufio.Reader
	line []byte
	n    int // of the line, from 1
}

func newJSONLines(r io.Reader) *jsonLines { return &jsonLines{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line that is not blank; it is valid until the next call.
// errLongLine is about one line: the next can be read. Others end the stream.
func (l *jsonLines) next() ([]byte, error) {
	for {
		l.line = l.line[:0]
		l.n++
		long := false
		for {
			part, err := l.r.ReadSlice('\n')
			if long = long || len(l.line)+len(part) > maxJSONLine; !long {
				l.line = append(l.line, part...)
			}
			if err == nil {
				break
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if !errors.Is(err, io.EOF) || len(l.line) == 0 && !long {
				return nil, err
			}
			break // the last line has no newline
		}
		if long {
			return nil, errLongLine
		}
		if line := bytes.TrimSpace(l.line); len(line) > 0 {
			return line, nil
		}
	}
}

// idle reports whether the next line would have to be waited for.
func (l *jsonLines) idle() bool { return l.r.Buffered() == 0 }
