// Package jsonlines reads a stream of JSON objects, one per line.
package jsonlines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the maximum length of a line in bytes.
const MaxLine = 4 << 20

// ErrLong means that a line is longer than [MaxLine].
var ErrLong = fmt.Errorf("the line is longer than %d MiB", MaxLine>>20)

// Lines reads a stream of JSON objects, one per line.
type Lines struct {
	r      *bufio.Reader
	line   []byte
	Number int // of the line, from 1
}

// New reads lines from r.
func New(r io.Reader) *Lines { return &Lines{r: bufio.NewReaderSize(r, 64<<10)} }

// Next returns the next line that is not blank; it is valid until the next call. After
// ErrLong, which concerns one line, the next line can be read. Other errors end the stream.
func (l *Lines) Next() ([]byte, error) {
	for {
		l.line = l.line[:0]
		l.Number++
		long := false
		for {
			part, err := l.r.ReadSlice('\n')
			if long = long || len(l.line)+len(part) > MaxLine; !long {
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
			break // the last line has no line break
		}
		if long {
			return nil, ErrLong
		}
		if line := bytes.TrimSpace(l.line); len(line) > 0 {
			return line, nil
		}
	}
}

// Idle reports whether Next would have to wait for input.
func (l *Lines) Idle() bool { return l.r.Buffered() == 0 }
