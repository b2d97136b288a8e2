package convert

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// maxLine is the maximum length of a line in bytes.
const maxLine = 512 << 20

// lines reads a file line by line. The slice of a line is valid until the next one.
type lines struct {
	r   *bufio.Reader
	buf []byte
	n   int   // number of the line last read, from 1
	end int64 // offset after that line and its line break
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 256<<10)} }

// sliceLines is like lines for data in memory: its lines stay valid.
type sliceLines []byte

func (s *sliceLines) next() (line []byte, ended bool, err error) {
	if len(*s) == 0 {
		return nil, false, io.EOF
	}
	if i := bytes.IndexByte(*s, '\n'); i >= 0 {
		line, *s = (*s)[:i:i], (*s)[i+1:]
		return line, true, nil
	}
	line, *s = *s, nil
	return line, false, nil
}

var errLong = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)

// next returns the next line without its line break, and whether it had one. At the
// end the error is io.EOF.
func (l *lines) next() (line []byte, ended bool, err error) {
	chunk, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.buf = append(l.buf[:0], chunk...)
		for errors.Is(err, bufio.ErrBufferFull) {
			chunk, err = l.r.ReadSlice('\n')
			if l.buf = append(l.buf, chunk...); len(l.buf) > maxLine {
				l.n++
				return nil, false, errLong
			}
		}
		chunk = l.buf
	}
	if err != nil && (err != io.EOF || len(chunk) == 0) {
		return nil, false, err
	}
	l.n++
	l.end += int64(len(chunk))
	if n := len(chunk) - 1; chunk[n] == '\n' {
		return chunk[:n], true, nil
	}
	return chunk, false, nil
}

// jsonOf returns a line of the source as JSON without white space, or nil. clean is true if the
// returned JSON equals the line.
func jsonOf(raw []byte) (line []byte, clean bool) {
	trimmed := raw
	for len(trimmed) > 0 && jsonscan.IsSpace(trimmed[len(trimmed)-1]) {
		trimmed = trimmed[:len(trimmed)-1]
	}
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, false
	}
	clean = len(trimmed) == len(raw)
	if !utf8.Valid(trimmed) {
		trimmed, clean = []byte(strings.ToValidUTF8(string(trimmed), "\uFFFD")), false
	}
	valid, compact := check(trimmed)
	switch {
	case !valid:
		return nil, false
	case compact:
		return trimmed, clean
	}
	return compacted(trimmed), false
}
